#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tools/torture/job.hpp"

namespace sluice::torture {

/// A possible content of the input, and its output in an undisturbed run.
struct Content {
    const char* name;
    std::string bytes{};
    std::string output{};
    std::string stamp{};  ///< As in job.json.
};

enum class Swap { rename, copy_over, truncate };

[[nodiscard]] const char* name_of(Swap swap);

/// Inputs of one format: "a"; "b", of as many items and bytes; and "cut", the first half of a's items. All files have
/// the same time.
class SwappedInput {
public:
    /// `extension` is "txt" or "u8". Throws Error (internal) if an undisturbed run fails.
    SwappedInput(const Job& job, std::string extension);

    [[nodiscard]] const std::vector<Content>& contents() const noexcept { return contents_; }
    [[nodiscard]] const std::string& extension() const noexcept { return extension_; }

    /// Puts content `index` at `path`, by rename.
    void put(std::size_t index, const std::filesystem::path& path) const;

    /// Swaps content "a" at `path` for "cut" or "b", as programs do; `random` chooses how a copy is written.
    void swap(Swap how, const std::filesystem::path& path, std::mt19937_64& random) const;

private:
    void copy_over(const std::filesystem::path& path, std::mt19937_64& random) const;

    std::string extension_;
    std::vector<Content> contents_;
};

/// The input's stamp in job.json; empty if none.
[[nodiscard]] std::string recorded_input(const std::filesystem::path& output);

}  // namespace sluice::torture
