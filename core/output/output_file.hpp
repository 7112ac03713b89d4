#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/system/descriptor.hpp"

namespace sluice {

/// A file that appears under its name when it is complete, or never: written under a temporary name in the same folder,
/// which the destructor removes unless publish() renamed it. One thread. A failed write or sync cannot be repeated: the
/// kernel may have dropped the data, so everything after it but the destructor throws ContractViolation.
class OutputFile {
public:
    /// `key` is what the user sets to choose `path`, such as "output.path"; hints name it. Throws Error
    /// (cannot_create).
    OutputFile(const std::filesystem::path& path, std::string_view key);
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    /// By a system call each. Throws Error (io_error).
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

    /// Syncs, renames over an earlier file, syncs the folder. Throws Error (io_error). `last_look` is called when
    /// nothing but the rename is left; what it throws leaves an earlier file as it is.
    void publish(const std::function<void()>& last_look = {});

private:
    void open_folder(const std::filesystem::path& folder);
    void check_target() const;
    void create_temporary();
    [[noreturn]] void refuse(const char* id, const std::string& what, const std::string& hint) const;
    [[noreturn]] void fail(const char* operation, int error);

    std::string where_;
    std::string key_;
    std::string name_;
    std::string temporary_;  // empty: none to remove
    Descriptor folder_;
    Descriptor file_;
    bool failed_ = false;
};

}  // namespace sluice
