#include "tests/slurm/box_job.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "slurm/child.hpp"
#include "slurm/submission.hpp"
#include "tests/support/files.hpp"
#include "tests/support/proc.hpp"

namespace sluice::test {
namespace {

constexpr std::array<std::string_view, 7> ends{"COMPLETED", "FAILED",    "TIMEOUT",      "NODE_FAIL",
                                               "CANCELLED", "BOOT_FAIL", "OUT_OF_MEMORY"};

}  // namespace

std::filesystem::path slurm_conf() {
    const char* const file = std::getenv("SLURM_CONF");
    return file == nullptr ? "" : file;
}

std::string slurm(const std::vector<std::string>& words) {
    const auto result = run_child(words, patience());
    EXPECT_TRUE(result) << words[0] << " did not answer";
    EXPECT_EQ(result.value_or(ChildResult{}).exit_code, 0) << words[0] << ": " << result.value_or(ChildResult{}).err;
    return result.value_or(ChildResult{}).out;
}

std::vector<std::string> held_items() {
    return held_texts(400, 40);
}

std::vector<std::string> slow_items() {
    return std::vector<std::string>(4000, "slow");
}

std::vector<std::string> with(std::vector<std::string> keys, const std::vector<std::string>& more) {
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
}

BoxJob::BoxJob(std::size_t items, const std::vector<std::string>& keys) : folder_(items), overrides_(set(keys)) {}

BoxJob::BoxJob(const std::vector<std::string>& texts, const std::vector<std::string>& keys)
    : folder_(texts), overrides_(set(keys)) {}

BoxJob::~BoxJob() {
    if (!id_.empty()) {
        static_cast<void>(run_child({"scancel", "--quiet", id_}, longest_run));
    }
}

ProcessResult BoxJob::sluice(const std::vector<std::string>& words) const {
    return Process(launch_words(0, words), ProcessOptions{.folder = path()}).wait();
}

void BoxJob::submit(const std::vector<std::string>& more) {
    std::vector<std::string> words{"submit", "job.toml"};
    words.insert(words.end(), overrides_.begin(), overrides_.end());
    if (!more.empty()) {
        words.emplace_back("--");
        words.insert(words.end(), more.begin(), more.end());
    }
    const ProcessResult result = sluice(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    id_ = result.out.substr(0, result.out.find('\n'));
    ASSERT_EQ(id_.find_first_not_of("0123456789"), std::string::npos) << result.out;
}

std::unique_ptr<Process> BoxJob::submit_waiting() {
    std::vector<std::string> words{"submit", "job.toml", "--wait"};
    words.insert(words.end(), overrides_.begin(), overrides_.end());
    auto process = std::make_unique<Process>(launch_words(0, words), ProcessOptions{.folder = path()});
    std::optional<Submission> submission;
    EXPECT_TRUE(eventually([&] {
        submission = read_submission(run_folder() / "submitted.json");
        return submission.has_value();
    }));
    id_ = submission.value_or(Submission{}).job;
    return process;
}

void BoxJob::turn_to_follower() {
    id_ = read_submission(run_folder() / "submitted.json").value_or(Submission{}).job;
}

std::string BoxJob::field(const std::string& name) const {
    const std::string text = slurm({"scontrol", "--oneliner", "show", "job", id_});
    const std::size_t at = text.find(" " + name + "=");
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + name.size() + 2;
    return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

std::string BoxJob::state() const {
    return field("JobState");
}

void BoxJob::wait_for(const std::string& state) const {
    std::string now;
    ASSERT_TRUE(eventually([&] {
        now = this->state();
        return now == state || std::find(ends.begin(), ends.end(), now) != ends.end();
    })) << "still "
        << now << "\n"
        << log();
    ASSERT_EQ(now, state) << log();
}

void BoxJob::start_requeued() const {
    // Not within the second of the requeue: slurmd still refuses the job then ("Job credential revoked").
    slurm({"scontrol", "update", "jobid=" + id_, "StartTime=now+3"});
}

void BoxJob::wait_for_drain() const {
    EXPECT_TRUE(eventually([&] { return log().find("finishing the chunks in flight") != std::string::npos; })) << log();
}

void BoxJob::announce_the_end_of_time() const {
    slurm({"scancel", "--signal=USR1", "--batch", id_});
    wait_for_drain();
    release();
}

RunStatus BoxJob::status() const {
    return read_run_status(run_folder() / "status.json").value_or(RunStatus{});
}

void BoxJob::wait_for_chunks(std::uint64_t chunks) const {
    ASSERT_TRUE(eventually([&] { return status().chunks_done >= chunks; })) << log();
}

std::string BoxJob::log() const {
    return contents(run_folder() / "logs" / (id_ + ".log"));
}

std::string BoxJob::expected_output() const {
    std::vector<std::string> words{
        "run", "job.toml", "--quiet", "--set", "output.path=expected.csv", "--set", "output.report=expected.json"};
    words.insert(words.end(), overrides_.begin(), overrides_.end());
    const ProcessResult result = sluice(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return contents(path() / "expected.csv");
}

std::string BoxJob::output() const {
    return contents(path() / "labels.csv");
}

}  // namespace sluice::test
