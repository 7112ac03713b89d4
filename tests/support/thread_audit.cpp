#include "tests/support/thread_audit.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace sluice::test {
namespace {

constexpr std::size_t roles = 5;
struct Counters {
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> locks{0};
};
std::array<Counters, roles> counters;
std::atomic<bool> auditing{false};
thread_local ThreadRole my_role = ThreadRole::other;

Counters* mine() noexcept {
    if (my_role == ThreadRole::other || !auditing.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    return &counters[static_cast<std::size_t>(my_role)];
}

void count_allocation() noexcept {
    if (Counters* const to = mine()) {
        to->allocations.fetch_add(1, std::memory_order_relaxed);
    }
}

void count_lock() noexcept {
    if (Counters* const to = mine()) {
        to->locks.fetch_add(1, std::memory_order_relaxed);
    }
}

/// The C library's own `name`, behind the one of this file.
template <class Function>
Function original(const char* name) noexcept {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::abort();
    }
    return reinterpret_cast<Function>(found);
}

}  // namespace

ThreadRole become(ThreadRole role) noexcept {
    const ThreadRole before = my_role;
    my_role = role;
    return before;
}

void start_audit() noexcept {
    for (Counters& counter : counters) {
        counter.allocations.store(0);
        counter.locks.store(0);
    }
    auditing.store(true);
}

void stop_audit() noexcept {
    auditing.store(false);
}

AuditCounts audited(ThreadRole role) noexcept {
    const Counters& counter = counters[static_cast<std::size_t>(role)];
    return {counter.allocations.load(), counter.locks.load()};
}

}  // namespace sluice::test

using sluice::test::count_allocation;
using sluice::test::count_lock;
using sluice::test::original;

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);

void* malloc(std::size_t bytes) {
    count_allocation();
    return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
    count_allocation();
    return __libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
    count_allocation();
    return __libc_realloc(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
    count_allocation();
    return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    count_allocation();
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    count_allocation();
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}

void free(void* memory) {
    if (memory != nullptr) {
        count_allocation();
    }
    __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
    static const auto call = original<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
    count_lock();
    return call(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
    static const auto call = original<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
    count_lock();
    return call(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
    static const auto call = original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
    count_lock();
    return call(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
    static const auto call = original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
    count_lock();
    return call(lock);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    static const auto call = original<int (*)(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait");
    count_lock();
    return call(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
    static const auto call =
        original<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
    count_lock();
    return call(condition, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
    static const auto call =
        original<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
    count_lock();
    return call(condition, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* condition) {
    static const auto call = original<int (*)(pthread_cond_t*)>("pthread_cond_signal");
    count_lock();
    return call(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
    static const auto call = original<int (*)(pthread_cond_t*)>("pthread_cond_broadcast");
    count_lock();
    return call(condition);
}

}  // extern "C"
