#include <cstring>
#include <stdexcept>
#include <vector>

#include "core/device/cuda_error.hpp"
#include "tests/kernels/cuda/gpu.hpp"

namespace sluice {
namespace {

/// Numbers that a test moves about by copies alone: the stream's order is all that it relies on.
class LoopOnGpu : public OnGpu {
protected:
    void SetUp() override {
        OnGpu::SetUp();
        if (!IsSkipped()) {
            device_ = make_cuda_device(0);
            stream_ = device_->make_stream({});
        }
    }

    [[nodiscard]] Buffer numbers(const std::vector<std::uint32_t>& values) {
        Buffer buffer = device_->allocate(MemorySpace::device, values.size() * sizeof(std::uint32_t));
        check_cuda(cudaMemcpy(buffer.bytes().data(), values.data(), buffer.bytes().size(), cudaMemcpyHostToDevice),
                   "copy");
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        return buffer;
    }
    [[nodiscard]] static std::vector<std::uint32_t> values(const Buffer& buffer) {
        std::vector<std::uint32_t> result(buffer.bytes().size() / sizeof(std::uint32_t));
        check_cuda(cudaMemcpy(result.data(), buffer.bytes().data(), buffer.bytes().size(), cudaMemcpyDeviceToHost),
                   "copy");
        return result;
    }
    [[nodiscard]] static const std::uint32_t* at(const Buffer& buffer, std::size_t index) {
        return reinterpret_cast<const std::uint32_t*>(buffer.bytes().data()) + index;
    }

    /// (n + 1) numbers move up by one place: the first one says whether there are more. Through `spare`, because a
    /// copy's two sides may not overlap.
    void shift(const Buffer& queue, const Buffer& spare) {
        const std::size_t bytes = queue.bytes().size() - sizeof(std::uint32_t);
        stream_->copy(spare.bytes().first(bytes), queue.bytes().subspan(sizeof(std::uint32_t)));
        stream_->copy(queue.bytes().first(bytes), spare.bytes().first(bytes));
    }

    /// Launches `work` as it is, or captured, then twice.
    template <class Work>
    void run(bool captured, Work work) {
        if (captured) {
            stream_->launch(captured_, work);
            stream_->launch(captured_, work);
        } else {
            work();
        }
        stream_->record().wait();
    }

    std::unique_ptr<Device> device_;
    std::unique_ptr<CapturedWork> captured_;
    std::unique_ptr<Stream> stream_;
};

TEST_F(LoopOnGpu, RunsItsBodyUntilTheDeviceSaysThatThereIsNoMore) {
    for (const bool captured : {false, true}) {
        const Buffer fresh = numbers({1, 1, 1, 0, 7, 8, 9});
        const Buffer queue = numbers({0, 0, 0, 0, 0, 0, 0});
        const Buffer spare = numbers({0, 0, 0, 0, 0, 0, 0});
        captured_.reset();
        const auto body = [&] { shift(queue, spare); };

        run(captured, [&] {
            stream_->copy(queue.bytes(), fresh.bytes());
            stream_->loop(at(queue, 0), 100, body);
        });

        EXPECT_EQ(values(queue), (std::vector<std::uint32_t>{0, 7, 8, 9, 9, 9, 9})) << "three rounds";
    }
}

TEST_F(LoopOnGpu, RunsNothingWhereThereIsNoMoreOrNoRoundAllowed) {
    const Buffer flags = numbers({0, 1});
    const Buffer ran = numbers({0, 0});
    const Buffer one = numbers({1});
    const auto first = [&] { stream_->copy(ran.bytes().first(4), one.bytes()); };
    const auto second = [&] { stream_->copy(ran.bytes().last(4), one.bytes()); };

    stream_->loop(at(flags, 0), 10, first);
    stream_->loop(at(flags, 1), 0, second);
    stream_->record().wait();

    EXPECT_EQ(values(ran), (std::vector<std::uint32_t>{0, 0}));
}

TEST_F(LoopOnGpu, EndsAtItsLastRoundThoughThereWouldBeMore) {
    const Buffer queue = numbers({1, 1, 1, 1, 1, 5, 6});
    const Buffer spare = numbers({0, 0, 0, 0, 0, 0, 0});
    const auto body = [&] { shift(queue, spare); };

    stream_->loop(at(queue, 0), 2, body);
    stream_->record().wait();

    EXPECT_EQ(values(queue), (std::vector<std::uint32_t>{1, 1, 1, 5, 6, 6, 6}));
}

/// Each round of the outer loop fills the inner one's queue anew and takes what that leaves.
TEST_F(LoopOnGpu, MayHoldLoopsOfItsOwn) {
    for (const bool captured : {false, true}) {
        const Buffer fresh_outer = numbers({1, 1, 0});
        const Buffer fresh_inner = numbers({1, 1, 0, 42});
        const Buffer outer = numbers({0, 0, 0});
        const Buffer inner = numbers({0, 0, 0, 0});
        const Buffer spare = numbers({0, 0, 0, 0});
        const Buffer left = numbers({0, 0});
        captured_.reset();
        const auto inner_body = [&] { shift(inner, spare); };
        const auto outer_body = [&] {
            stream_->copy(inner.bytes(), fresh_inner.bytes());
            stream_->loop(at(inner, 0), 100, inner_body);
            stream_->copy(left.bytes().last(4), left.bytes().first(4));
            stream_->copy(left.bytes().first(4), inner.bytes().subspan(4, 4));
            shift(outer, spare);
        };

        run(captured, [&] {
            stream_->copy(outer.bytes(), fresh_outer.bytes());
            stream_->loop(at(outer, 0), 100, outer_body);
        });

        EXPECT_EQ(values(left), (std::vector<std::uint32_t>{42, 42}));
        EXPECT_EQ(values(inner), (std::vector<std::uint32_t>{0, 42, 42, 42}));
    }
}

TEST_F(LoopOnGpu, MayBeEnqueuedOftenWithoutBeingCaptured) {
    const Buffer queue = numbers(std::vector<std::uint32_t>(101, 1));
    const Buffer spare = numbers(std::vector<std::uint32_t>(101, 0));
    const Buffer zero = numbers({0});
    stream_->copy(queue.bytes().last(4), zero.bytes());
    const auto body = [&] { shift(queue, spare); };

    for (int i = 0; i < 50; ++i) {
        stream_->loop(at(queue, 0), 2, body);
    }
    stream_->record().wait();

    EXPECT_EQ(values(queue).front(), 0U) << "a hundred rounds, two a loop";
}

TEST_F(LoopOnGpu, LeavesTheStreamUsableWhenItsBodyThrows) {
    const Buffer flag = numbers({1});
    const Buffer to = numbers({0});
    const Buffer from = numbers({3});
    const auto throwing = [] { throw std::runtime_error("sick"); };
    const auto nested = [&] { stream_->loop(at(flag, 0), 1, throwing); };
    const auto recording = [&] { static_cast<void>(stream_->record()); };

    EXPECT_THROW(stream_->loop(at(flag, 0), 1, throwing), std::runtime_error);
    EXPECT_THROW(stream_->loop(at(flag, 0), 1, nested), std::runtime_error);
    EXPECT_THROW(stream_->loop(at(flag, 0), 1, recording), ContractViolation);
    const auto body = [&] { stream_->copy(to.bytes(), from.bytes()); };
    stream_->loop(at(flag, 0), 1, body);
    stream_->record().wait();

    EXPECT_EQ(values(to), std::vector<std::uint32_t>{3});
}

}  // namespace
}  // namespace sluice
