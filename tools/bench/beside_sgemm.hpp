#pragma once

#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/modes.hpp"
#include "kernels/host_instructions.hpp"

namespace sluice::bench {

/// oneDNN's product of rows with a matrix, on one thread.
class Sgemm {
public:
    Sgemm(std::int64_t rows, std::int64_t inputs, std::int64_t outputs)
        : rows_(rows),
          inputs_(inputs),
          outputs_(outputs),
          a_(static_cast<std::size_t>(rows * inputs), 0.5F),
          b_(static_cast<std::size_t>(inputs * outputs), 0.25F),
          c_(static_cast<std::size_t>(rows * outputs)) {}

    void run() {
        omp_set_num_threads(1);
        dnnl_sgemm('N', 'N', rows_, outputs_, inputs_, 1.0F, a_.data(), inputs_, b_.data(), outputs_, 0.0F, c_.data(),
                   outputs_);
    }
    [[nodiscard]] double flop() const { return 2.0 * static_cast<double>(rows_ * inputs_ * outputs_); }

private:
    std::int64_t rows_;
    std::int64_t inputs_;
    std::int64_t outputs_;
    std::vector<float> a_, b_, c_;
};

/// Those in which this CPU can multiply: fp32 and, with AMX, bf16.
inline std::vector<Precision> host_precisions() {
    limit_host_instructions(host_instructions());
    return host_instructions() == HostInstructions::amx ? std::vector{Precision::fp32, Precision::bf16}
                                                        : std::vector{Precision::fp32};
}

/// main() of a benchmark whose command line lists chunk sizes; without any, `usual` are run.
inline int run_sizes(int argc, char** argv, std::string_view usage, const std::vector<std::uint32_t>& usual,
                     void (*run)(const std::vector<std::uint32_t>&)) {
    std::vector<std::uint32_t> sizes;
    for (const char* const word : std::span(argv + 1, argv + argc)) {
        sizes.push_back(static_cast<std::uint32_t>(std::strtoul(word, nullptr, 10)));
        if (sizes.back() == 0) {
            fmt::print(stderr, "usage: {}\n", usage);
            return 64;
        }
    }
    run(sizes.empty() ? usual : sizes);
    return 0;
}

/// Runs all `workers` in parallel, each repeatedly for at least `enough_seconds`; returns the sum of `work` per second.
template <class Worker>
double rate_together(std::vector<std::unique_ptr<Worker>>& workers, double enough_seconds,
                     const std::function<double(Worker&)>& work) {
    const auto seconds_since = [](Instant begin) {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    std::vector<double> done(workers.size(), 0);
    const Instant begin = Clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < workers.size(); ++i) {
            threads.emplace_back([&, i] {
                const Instant own_begin = Clock::now();
                while (seconds_since(own_begin) < enough_seconds) {
                    done[i] += work(*workers[i]);
                }
            });
        }
    }
    const double took = seconds_since(begin);
    double all = 0;
    for (const double one : done) {
        all += one;
    }
    return all / took;
}

}  // namespace sluice::bench
