// Host time of one chunk: what Pipeline asks of a GPU's streams between a chunk's arrival and its delivery, for a chunk
// whose own work is nothing, and a model of as many launches as the classifier has. The stream is drained outside of
// the time measured.
//   bench_driver_calls [CHUNKS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/device.hpp"
#include "core/device/cuda.hpp"
#include "tools/bench/bench_main.hpp"

namespace sluice::bench {
namespace {

constexpr std::size_t bytes = 4096;
constexpr int launches = 12;       // in the classifier's forward pass
constexpr std::size_t burst = 16;  // chunks enqueued before the stream is drained
constexpr double bar_us = 10;

class Chunks {
public:
    explicit Chunks(Device& device)
        : pinned_(device.allocate(MemorySpace::pinned, 2 * bytes)),
          on_device_(device.allocate(MemorySpace::device, 2 * bytes)),
          upload_(device.make_stream({})),
          compute_(device.make_stream({})),
          download_(device.make_stream({})) {}

    /// Host time in microseconds per chunk, over `burst` chunks.
    double time() {
        std::vector<Event> done;
        const Instant begin = Clock::now();
        for (std::size_t i = 0; i < burst; ++i) {
            done.push_back(enqueue());
        }
        Seconds host = Clock::now() - begin;
        done.back().wait();
        const Instant again = Clock::now();
        for (const Event& event : done) {  // polling a finished event, and its time: the cost of retiring
            if (!event.ready() || event.completed_at() < begin) {
                std::abort();
            }
        }
        host += Clock::now() - again;
        return 1e6 * host.count() / static_cast<double>(burst);
    }

private:
    Event enqueue() {
        const auto in = on_device_.bytes().first(bytes);
        const auto out = on_device_.bytes().last(bytes);
        static_cast<void>(upload_->mark());
        upload_->copy(in, pinned_.bytes().first(bytes));
        const Event uploaded = upload_->record();
        compute_->wait(uploaded);
        static_cast<void>(compute_->mark());
        const auto work = [&] {
            for (int i = 0; i < launches; ++i) {
                compute_->copy(out, in);
            }
        };
        compute_->launch(captured_, work);
        const Event computed = compute_->record();
        download_->wait(computed);
        static_cast<void>(download_->mark());
        download_->copy(pinned_.bytes().last(bytes), out);
        return download_->record();
    }

    Buffer pinned_;
    Buffer on_device_;
    std::unique_ptr<CapturedWork> captured_;
    std::unique_ptr<Stream> upload_;
    std::unique_ptr<Stream> compute_;
    std::unique_ptr<Stream> download_;
};

void bench(std::size_t chunks) {
    const std::unique_ptr<Device> device = make_cuda_device(0);
    Chunks one(*device);
    static_cast<void>(one.time());  // captures
    std::vector<double> times;
    for (std::size_t i = 0; i < chunks; i += burst) {
        times.push_back(one.time());
    }
    std::ranges::sort(times);
    fmt::print("{}: {:.2f} us of host time a chunk (median; 90 % below {:.2f}), {} chunks at once; bar {} us\n",
               device->name(), times[times.size() / 2], times[times.size() * 9 / 10], burst, bar_us);
}

int run(int argc, char** argv) {
    const long chunks = argc > 1 ? std::atol(argv[1]) : 16000;
    if (chunks < 1) {
        fmt::print(stderr, "usage: bench_driver_calls [CHUNKS]\n");
        return 64;
    }
    bench(static_cast<std::size_t>(chunks));
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::exit_code_of(sluice::bench::run, argc, argv);
}
