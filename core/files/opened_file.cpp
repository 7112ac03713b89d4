#include "core/files/opened_file.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {

std::string OpenedFile::problem() const {
    return error != 0 ? "cannot open: " + system_text(error)
                      : fmt::format("not a regular file (got {}, expected a file)", kind_of_file(status));
}

OpenedFile open_file(const std::filesystem::path& path) {
    OpenedFile opened{.file = Descriptor(open_to_read(path))};
    if (opened.file.number() < 0 || ::fstat(opened.file.number(), &opened.status) != 0) {
        opened.error = errno;
    }
    return opened;
}

}  // namespace sluice
