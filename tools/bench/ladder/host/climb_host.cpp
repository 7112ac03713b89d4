#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>

#include "tools/bench/ladder/host/rungs.hpp"
#include "tools/bench/ladder/ladder.hpp"

namespace sluice::ladder {
namespace {

constexpr std::uint32_t side_on_host = 512;

struct HostRung {
    std::uint32_t number;
    std::string_view name;
    void (*multiply)(const host::Matrices&);
};

constexpr std::array host_rungs{
    HostRung{0, "oneDNN", &host::multiply_library},
    HostRung{1, "naive", &host::multiply_naive},
    HostRung{2, "blocked", &host::multiply_blocked},
    HostRung{3, "vectors in registers", &host::multiply_vectors},
};

std::vector<float> normal_values(std::size_t count, float deviation, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> draw(0.0F, deviation);
    std::vector<float> values(count);
    std::ranges::generate(values, [&] { return draw(engine); });
    return values;
}

/// Over at most 64 rows from first to last; NaN if any element is.
double error_beside_plain(const host::Matrices& x) {
    const std::size_t rows = std::min<std::size_t>(x.m, 64);
    double off = 0;
    double norm = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t row = rows == 1 ? 0 : i * (x.m - 1) / (rows - 1);
        for (std::size_t column = 0; column < x.n; ++column) {
            double plain = 0;
            for (std::size_t k = 0; k < x.k; ++k) {
                plain += static_cast<double>(x.a[row * x.k + k]) * static_cast<double>(x.b[k * x.n + column]);
            }
            off += std::pow(static_cast<double>(x.out[row * x.n + column]) - plain, 2);
            norm += plain * plain;
        }
    }
    const bool written = std::none_of(x.out, x.out + x.m * x.n, [](float value) { return std::isnan(value); });
    const double elements = static_cast<double>(rows) * static_cast<double>(x.n);
    return written ? relative_error(off, norm, elements) : std::numeric_limits<double>::quiet_NaN();
}

double seconds_per_call(void (*multiply)(const host::Matrices&), const host::Matrices& x, double seconds) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    double passed = 0;
    int calls = 0;
    while (passed < seconds || calls == 0) {
        multiply(x);
        ++calls;
        passed = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return passed / calls;
}

}  // namespace

std::vector<std::uint32_t> host_rung_numbers() {
    std::vector<std::uint32_t> numbers;
    numbers.reserve(host_rungs.size());
    for (const HostRung& rung : host_rungs) {
        numbers.push_back(rung.number);
    }
    return numbers;
}

LadderResult climb_host(const LadderOptions& options, const Report& report) {
    const std::size_t m = options.m.value_or(side_on_host);
    const std::size_t n = options.n.value_or(side_on_host);
    const std::size_t k = options.k.value_or(side_on_host);
    const std::vector<float> a = normal_values(m * k, 1, 1);
    const std::vector<float> b = normal_values(k * n, 1 / std::sqrt(static_cast<float>(k)), 2);
    std::vector<float> out(m * n);
    const host::Matrices x{.m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .out = out.data()};
    const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / tera;
    host::multiply_library(x);  // oneDNN starts: no rung is to be charged with that
    LadderResult result{.device = "one core of the host", .peer = "oneDNN on one core"};
    for (const HostRung& rung : host_rungs) {
        if (!options.rungs.empty() && std::ranges::find(options.rungs, rung.number) == options.rungs.end()) {
            continue;
        }
        std::ranges::fill(out, std::numeric_limits<float>::quiet_NaN());
        rung.multiply(x);
        RungResult one{.number = rung.number,
                       .name = std::string(rung.name),
                       .precision = "fp32",
                       .m = static_cast<std::uint32_t>(m),
                       .n = static_cast<std::uint32_t>(n),
                       .k = static_cast<std::uint32_t>(k),
                       .error = error_beside_plain(x)};
        double own = 0;
        double library = 0;
        for (const bool own_first : {true, false}) {  // A B B A: drift affects both
            own += own_first ? seconds_per_call(rung.multiply, x, options.seconds) : 0;
            library += seconds_per_call(&host::multiply_library, x, options.seconds);
            own += own_first ? 0 : seconds_per_call(rung.multiply, x, options.seconds);
        }
        one.rate.tflops = 2 * operations / own;
        one.peer.tflops = 2 * operations / library;
        report(one);
        result.rungs.push_back(std::move(one));
    }
    return result;
}

}  // namespace sluice::ladder
