#include "tests/e2e/echo_job.hpp"

#include <string_view>

#include "tests/e2e/job_folder.hpp"
#include "tests/support/files.hpp"

namespace sluice::test {
namespace {

constexpr std::string_view echo_job = R"(app = "echo"
[input]
path = "items.txt"
[model]
random = 1
[output]
path = "labels.csv"
[run]
device = "host"
devices = 1
[pipeline]
chunk_items = 4
depth = 2
[fault]
hang_timeout = "2s"
)";

}  // namespace

EchoJob::EchoJob(const std::vector<std::string>& items) {
    std::string lines;
    for (const std::string& item : items) {
        lines += item + "\n";
    }
    write_file(path() / "items.txt", lines);
    write_file(path() / "job.toml", std::string(echo_job) + held_.job_lines());
}

std::unique_ptr<Process> EchoJob::start(int ranks, const std::vector<std::string>& settings) const {
    std::vector<std::string> words{"run", "job.toml", "--no-progress"};
    const std::vector<std::string> more = set(settings);
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(launch_words(ranks, words, SLUICE_ECHO_PROGRAM), ProcessOptions{.folder = path()});
}

ProcessResult EchoJob::retry() const {
    return Process(launch_words(0, {"run", "job.toml", "--no-progress", "--retry"}, SLUICE_ECHO_PROGRAM),
                   {.folder = path()})
        .wait();
}

ProcessResult EchoJob::run(int ranks, const std::vector<std::string>& settings) const {
    return start(ranks, settings)->wait();
}

std::filesystem::path EchoJob::attempt(int number) const {
    return path() / "labels.csv.sluice" / "attempts" / std::to_string(number);
}

bool EchoJob::has_written(int number) const {
    return std::filesystem::exists(attempt(number) / "part-00000.bin");
}

nlohmann::json EchoJob::report() const {
    return nlohmann::json::parse(contents(path() / "labels.csv.report.json"));
}

}  // namespace sluice::test
