// Preloaded into a program: of the pieces of SLUICE_REFUSED_BYTES bytes that it asks operator new for, the one with the
// number SLUICE_REFUSED_PIECE, from 1, is refused.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::size_t number_of(const char* variable) {
    return std::strtoull(std::getenv(variable), nullptr, 10);
}

bool is_refused(std::size_t bytes) {
    static const std::size_t refused_bytes = number_of("SLUICE_REFUSED_BYTES");
    static const std::size_t refused_piece = number_of("SLUICE_REFUSED_PIECE");
    static std::atomic<std::size_t> count{0};
    return bytes == refused_bytes && ++count == refused_piece;
}

}  // namespace

void* operator new(std::size_t bytes) {
    void* const memory = is_refused(bytes) ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    return memory == nullptr ? throw std::bad_alloc() : memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
