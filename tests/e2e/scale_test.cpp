// sluice scale: runs of a job on different numbers of devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ProcessResult scale(const JobFolder& job, std::vector<std::string> words) {
    words.insert(words.begin(), "scale");
    return Process(launch_words(0, words), {.folder = job.path()}).wait();
}

TEST(Scale, PutsRunsOnMoreDevicesAndRanksIntoOneTable) {
    const JobFolder job(97);
    ASSERT_EQ(job.run_alone(set({"output.path=one.csv"})).exit_code, 0);
    ASSERT_EQ(job.run_alone(set({"output.path=again.csv"})).exit_code, 0);
    ASSERT_EQ(job.run_alone(set({"output.path=two.csv", "run.devices=2"})).exit_code, 0);
    ASSERT_EQ(job.run_ranks(3, set({"output.path=six.csv", "run.devices=2"})).exit_code, 0);

    const ProcessResult text = scale(job, {"six.csv", "one.csv", "two.csv.report.json", "again.csv.sluice"});
    const ProcessResult object = scale(job, {"six.csv", "one.csv", "two.csv", "again.csv", "--json"});

    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("devices  nodes  ranks  runs "));
    EXPECT_THAT(text.out, HasSubstr("\n6 devices, 1 node, 3 ranks: "));
    ASSERT_EQ(object.exit_code, 0) << object.err;
    const json points = json::parse(object.out).at("points");
    ASSERT_EQ(points.size(), 3U);
    EXPECT_EQ(points.at(0).at("devices"), 1);
    EXPECT_EQ(points.at(0).at("runs"), 2);
    EXPECT_EQ(points.at(0).at("speed_up").at("efficiency"), 1);
    EXPECT_EQ(points.at(2).at("ranks"), 3);
    const double times = points.at(2).at("rate").get<double>() / points.at(0).at("rate").get<double>();
    EXPECT_NEAR(points.at(2).at("speed_up").at("times").get<double>(), times, 1e-9 * times);
}

TEST(Scale, RefusesLessThanTwoRunsAndWhatIsNoReport) {
    const JobFolder job(3);
    ASSERT_EQ(job.run_alone({}).exit_code, 0);
    json lacking = json::parse(contents(job.path() / "labels.csv.report.json"));
    lacking.erase("ranks");
    write_file(job.path() / "lacking.json", lacking.dump());

    EXPECT_EQ(scale(job, {"labels.csv"}).exit_code, 64);
    EXPECT_EQ(scale(job, {"labels.csv", "none.csv"}).exit_code, 66);
    const ProcessResult refused = scale(job, {"labels.csv", "lacking.json"});
    EXPECT_EQ(refused.exit_code, 65);
    EXPECT_THAT(refused.err, HasSubstr("error[E-RUN-192]: lacking.json: lacks what a sluice report has: key 'ranks'"));
    EXPECT_EQ(refused.out, "");
}

}  // namespace
}  // namespace sluice::test
