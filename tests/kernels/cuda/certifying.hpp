#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/device/cuda.hpp"
#include "kernels/cuda_kernels.hpp"
#include "tests/kernels/cuda/gpu.hpp"

/// Items to certify, and what shall come out.
namespace sluice::certifying {

inline constexpr std::uint32_t classes = 3;
inline constexpr std::uint32_t batch = 32;
inline constexpr float bound = 0.3F;  // of the scores' size, which is 1 and their largest
inline constexpr float offsets[classes] = {0.0F, 10.0F, -5.0F};

/// A record of label and scores.
struct Record {
    std::int32_t label;
    float scores[classes];
    friend bool operator==(const Record&, const Record&) = default;
};

[[nodiscard]] inline Margin margin_with(float of_bound) {
    return {.offsets = {std::begin(offsets), std::end(offsets)}, .bound = of_bound, .usual = 1};
}

struct Items {
    std::vector<Record> exact;
    std::vector<Record> guesses;
    std::vector<bool> uncertain;
};

/// `share` of the items have a gap below the bound.
inline Items draw_items(std::size_t count, double share, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::bernoulli_distribution is_uncertain(share);
    std::uniform_int_distribution<std::int32_t> draw_class(0, classes - 1);
    std::uniform_real_distribution<float> draw_small(0.0F, 0.4F);
    Items items;
    for (std::size_t i = 0; i < count; ++i) {
        const bool uncertain = is_uncertain(engine);
        const std::int32_t best = draw_class(engine);
        Record guess{.label = -1, .scores = {}};
        for (std::uint32_t c = 0; c < classes; ++c) {
            guess.scores[c] = draw_small(engine) - offsets[c] + (static_cast<std::int32_t>(c) == best ? 1.5F : 0.0F);
        }
        if (uncertain) {  // the best one's lead goes
            guess.scores[best] -= 1.5F;
        }
        items.guesses.push_back(guess);
        items.exact.push_back({.label = 100 + best, .scores = {draw_small(engine), 2.0F, 3.0F}});
        items.uncertain.push_back(uncertain);
    }
    return items;
}

inline Record expected(const Items& items, std::size_t i) {
    if (items.uncertain[i]) {
        return items.exact[i];
    }
    Record record = items.guesses[i];
    for (std::uint32_t c = 0; c < classes; ++c) {
        record.scores[c] += offsets[c];
    }
    record.label = static_cast<std::int32_t>(std::ranges::max_element(record.scores) - record.scores);
    return record;
}

class CertifiesOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped()) {
            device_ = make_cuda_device(0);
            stream_ = device_->make_stream({});
        }
    }

    /// What `certifier` makes of them, captured or not; captured work runs twice.
    template <class Out, class In>
    [[nodiscard]] std::vector<Out> certify(Certifier& certifier, const std::vector<In>& inputs,
                                           const std::vector<Record>& guessed, bool captured_work) {
        const Buffer in = on_device(inputs);
        const Buffer guesses = on_device(guessed);
        const Buffer out = device_->allocate(MemorySpace::device, inputs.size() * sizeof(Out));
        check_cuda(cudaMemset(out.bytes().data(), 0xff, out.bytes().size()), "cudaMemset");
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");  // other streams do not wait for it
        const std::array<std::span<const std::byte>, 2> items_and_guesses{in.bytes(), guesses.bytes()};
        const std::span<std::byte> records = out.bytes();
        const auto work = [&] {
            certifier.enqueue(*stream_, {inputs.size()}, items_and_guesses, Outputs(&records, 1));
        };
        std::unique_ptr<CapturedWork> captured;
        if (captured_work) {
            stream_->launch(captured, work);
            stream_->launch(captured, work);  // a loop that has run can run again
        } else {
            work();
        }
        stream_->record().wait();
        std::vector<Out> result(inputs.size());
        check_cuda(cudaMemcpy(result.data(), out.bytes().data(), out.bytes().size(), cudaMemcpyDeviceToHost), "copy");
        return result;
    }

    template <class T>
    [[nodiscard]] Buffer on_device(const std::vector<T>& values) {
        Buffer buffer = device_->allocate(MemorySpace::device, values.size() * sizeof(T));
        check_cuda(cudaMemcpy(buffer.bytes().data(), values.data(), buffer.bytes().size(), cudaMemcpyHostToDevice),
                   "copy");
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        return buffer;
    }

    std::unique_ptr<Device> device_;
    std::unique_ptr<Stream> stream_;
};

}  // namespace sluice::certifying
