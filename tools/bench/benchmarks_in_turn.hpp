#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace sluice::bench {

/// Google Benchmark prepared for comparisons: five repetitions of all benchmarks in random turns, of which only medians
/// and the like are reported. The command line overrides this. Outlives the benchmarks: they keep the program's name.
class BenchmarksInTurn {
public:
    /// `least_seconds`: of one repetition.
    BenchmarksInTurn(int argc, char** argv, double least_seconds) : arguments_(argv, argv + argc) {
        arguments_.insert(
            arguments_.begin() + 1,
            {"--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true",
             "--benchmark_report_aggregates_only=true", "--benchmark_min_time=" + std::to_string(least_seconds)});
        std::vector<char*> pointers;
        pointers.reserve(arguments_.size());
        for (std::string& argument : arguments_) {
            pointers.push_back(argument.data());
        }
        int count = static_cast<int>(pointers.size());
        benchmark::Initialize(&count, pointers.data());
        knows_all_ = !benchmark::ReportUnrecognizedArguments(count, pointers.data());
    }

    /// False, after a message on stderr, if there is an argument that Google Benchmark does not know.
    [[nodiscard]] bool knows_all_arguments() const noexcept { return knows_all_; }

private:
    std::vector<std::string> arguments_;
    bool knows_all_ = false;
};

}  // namespace sluice::bench
