#include "tests/support/thread_limit.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <optional>

namespace sluice::test {
namespace {

thread_local std::optional<std::uint32_t> threads_left;

}  // namespace

ThreadLimit::ThreadLimit(std::uint32_t threads) noexcept {
    threads_left = threads;
}

ThreadLimit::~ThreadLimit() {
    threads_left.reset();
}

}  // namespace sluice::test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (sluice::test::threads_left && (*sluice::test::threads_left)-- == 0) {
        sluice::test::threads_left = 0;
        return EAGAIN;
    }
    return create(thread, attributes, start, argument);
}
