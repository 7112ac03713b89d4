#include "core/system/node_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <new>
#include <string>
#include <utility>

namespace sluice {
namespace {

std::byte* map_pages(std::size_t bytes, int flags, int file) {
    void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}

/// With vm.overcommit_memory = 2 pages of a file in memory count when they are first touched, and for want of them that
/// is a SIGBUS.
bool are_pages_counted_late() {
    std::ifstream file("/proc/sys/vm/overcommit_memory");
    int mode = 0;
    return file >> mode && mode == 2;
}

bool has_size(int file, std::size_t bytes) {
    const auto size = static_cast<off_t>(bytes);
    if (!are_pages_counted_late()) {
        return ::ftruncate(file, size) == 0;
    }
    int error = EINTR;
    while (error == EINTR) {
        error = ::posix_fallocate(file, 0, size);
    }
    return error == 0;
}

bool is_memory_of(const struct stat& status, const NodeMemory::Ticket& ticket) {
    return status.st_dev == ticket.device && status.st_ino == ticket.inode &&
           static_cast<std::uint64_t>(status.st_size) == ticket.bytes;
}

}  // namespace

NodeMemory::NodeMemory(NodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), file_(std::move(other.file_)) {}

NodeMemory& NodeMemory::operator=(NodeMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(file_, other.file_);
    return *this;
}

NodeMemory::~NodeMemory() {
    if (data_ != nullptr) {
        ::munmap(data_, size_);
    }
}

NodeMemory NodeMemory::of_process(std::size_t bytes) {
    if (bytes == 0) {
        return {};
    }
    std::byte* const data = map_pages(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (data == nullptr) {
        throw std::bad_alloc();
    }
    return {data, bytes, Descriptor()};
}

NodeMemory NodeMemory::for_node(std::size_t bytes) {
    Descriptor file(bytes == 0 ? -1 : ::memfd_create("sluice", MFD_CLOEXEC));
    if (file.number() >= 0 && has_size(file.number(), bytes)) {
        if (std::byte* const data = map_pages(bytes, MAP_SHARED, file.number()); data != nullptr) {
            return {data, bytes, std::move(file)};
        }
    }
    return of_process(bytes);
}

std::optional<NodeMemory::Ticket> NodeMemory::ticket() const {
    struct stat status {};
    if (file_.number() < 0 || ::fstat(file_.number(), &status) != 0) {
        return std::nullopt;
    }
    return Ticket{
        .pid = ::getpid(), .file = file_.number(), .device = status.st_dev, .inode = status.st_ino, .bytes = size_};
}

std::optional<NodeMemory> NodeMemory::map(const Ticket& ticket) {
    const std::string path = fmt::format("/proc/{}/fd/{}", ticket.pid, ticket.file);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !is_memory_of(status, ticket)) {
        return std::nullopt;  // a stranger's file is not even opened: that wakes who waits at a pipe
    }
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    const bool same = ::fstat(file.number(), &status) == 0 && is_memory_of(status, ticket);
    std::byte* const data = same ? map_pages(ticket.bytes, MAP_SHARED, file.number()) : nullptr;
    if (data == nullptr) {
        return std::nullopt;
    }
    return NodeMemory(data, ticket.bytes, std::move(file));
}

void NodeMemory::make_read_only() noexcept {
    if (data_ != nullptr) {
        ::mprotect(data_, size_, PROT_READ);
    }
}

}  // namespace sluice
