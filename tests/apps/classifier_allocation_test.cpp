#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "apps/classifier/classifier_app.hpp"
#include "core/device/host_device.hpp"
#include "core/weights/packed_weights.hpp"

namespace {

thread_local std::size_t allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
    ++allocations;
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace sluice::classifier {
namespace {

TEST(ClassifierForward, AllocatesNothingOnTheDriversThread) {
    const auto app = open_classifier(false);
    const auto loaded = load_alone(*app, app->random_weights(1), Precision::fp32, DeviceKind::host, 2);
    HostDevice device;
    const auto model = loaded->make_model(device, {.most_items = 9});
    const auto stream = device.make_stream({});
    const IoShape shape = model->shape();
    const Buffer in = device.allocate(MemorySpace::device, 9 * shape.input_bytes);
    const Buffer out = device.allocate(MemorySpace::device, 9 * shape.output_bytes);

    const std::size_t before = allocations;
    model->forward(*stream, 9, in.bytes(), out.bytes());
    model->forward(*stream, 3, in.bytes().first(3 * shape.input_bytes), out.bytes().first(3 * shape.output_bytes));
    const std::size_t after = allocations;
    stream->record().wait();

    EXPECT_GT(before, 0U);  // the counter counts
    EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace sluice::classifier
