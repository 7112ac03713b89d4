// Preloaded into a program: of the threads that it starts as std::thread, the one with the number
// SLUICE_REFUSED_THREAD, from 1, is refused. MPI's own do not count.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace {

bool is_of_cpp(void* (*start)(void*)) {
    Dl_info place{};
    return ::dladdr(reinterpret_cast<void*>(start), &place) != 0 &&
           std::string_view(place.dli_fname).find("libstdc++") != std::string_view::npos;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
    static const int refused = std::atoi(std::getenv("SLUICE_REFUSED_THREAD"));
    static std::atomic<int> count{0};
    return is_of_cpp(start) && ++count == refused ? EAGAIN : create(thread, attributes, start, argument);
}
