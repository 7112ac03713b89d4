#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace sluice {

/// Cache-line alignment: no vector load of a row straddles two lines.
template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    LineAllocator() = default;
    template <class U>
    explicit LineAllocator(const LineAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
    void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, alignment); }

    template <class U>
    bool operator==(const LineAllocator<U>&) const noexcept {
        return true;
    }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

}  // namespace sluice
