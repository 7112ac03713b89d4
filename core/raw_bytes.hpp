#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace sluice {

/// Leaves new elements as they are: a large vector that is about to be filled need not be zeroed first.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = UninitializedAllocator<U>;
    };
    template <class U>
    void construct(U* where) noexcept {
        ::new (static_cast<void*>(where)) U;
    }
    template <class U, class... Arguments>
    void construct(U* where, Arguments&&... arguments) {
        ::new (static_cast<void*>(where)) U(std::forward<Arguments>(arguments)...);
    }
};

/// Bytes whose resize() leaves the new ones uninitialized.
using RawBytes = std::vector<std::byte, UninitializedAllocator<std::byte>>;

}  // namespace sluice
