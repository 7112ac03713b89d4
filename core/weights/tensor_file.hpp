#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/weights/safetensors_header.hpp"
#include "core/weights/weights_file.hpp"

namespace sluice {

/// A tensor that a model wants.
struct TensorSpec {
    std::string name;
    std::vector<std::uint64_t> shape;

    [[nodiscard]] std::uint64_t elements() const noexcept;
};

/// Throws Error (bad_data, E-MOD-047): what `where` holds is not what the model wants.
[[noreturn]] void refuse_tensors(const std::string& where, std::string what,
                                 std::string hint = "check that the weights belong to this app");

/// A weights file that is open and whose header is known: safetensors, by its extension `.safetensors` or by a
/// plausible header, else headerless little-endian fp32.
class TensorReader {
public:
    /// Validates everything before it trusts anything: docs/errors.md, E-MOD-*. Throws Error (no_input, bad_data).
    explicit TensorReader(const std::filesystem::path& path);

    [[nodiscard]] bool is_headerless() const noexcept { return is_headerless_; }

    /// For messages.
    [[nodiscard]] const std::string& where() const noexcept { return file_.where(); }

    /// In the order of their data; none of a headerless file.
    [[nodiscard]] std::span<const SafetensorsEntry> tensors() const noexcept { return header_.tensors; }

    /// Null: there is none of that name.
    [[nodiscard]] const SafetensorsEntry* find(std::string_view name) const noexcept;

    /// The string that `__metadata__` has for `key`; null: none.
    [[nodiscard]] const std::string* metadata(std::string_view key) const noexcept;

    /// Throws what read() of these would before it reads. Throws Error (bad_data).
    void check(std::span<const TensorSpec> wanted) const;

    /// Reads exactly `wanted` (no tensor missing, none extra, right shapes, all finite), one after the other into `to`,
    /// whose size is the sum of their elements. F16 and BF16 become fp32, which is exact. A headerless file has the
    /// tensors in the order of `wanted`. Throws Error (bad_data, numeric).
    void read(std::span<const TensorSpec> wanted, std::span<float> to) const;

    /// What the elements of a tensor are in a file that is not headerless. Throws Error (bad_data).
    [[nodiscard]] FloatType type_of(const TensorSpec& wanted) const;

    /// Where one tensor of such a file lies that may hold others; `to` has room for its elements as `as`, their own
    /// type or fp32. Throws Error (bad_data).
    [[nodiscard]] StoredValues stored(const TensorSpec& wanted, FloatType as, std::span<std::byte> to) const;

    /// Throws Error (bad_data) when the file has changed since it was opened.
    void check_unchanged() const { file_.check_unchanged(); }

private:
    [[nodiscard]] const SafetensorsEntry& entry_of(const TensorSpec& spec) const;
    void check_named(std::span<const TensorSpec> wanted) const;
    void check_size(std::span<const TensorSpec> wanted) const;

    WeightsFile file_;
    bool is_headerless_ = true;
    SafetensorsHeader header_;
    std::unordered_map<std::string_view, const SafetensorsEntry*> by_name_;
    std::uint64_t data_start_ = 0;
};

/// What TensorReader::read() does, of a file whose tensors are known before.
void read_tensors(const std::filesystem::path& path, std::span<const TensorSpec> wanted, std::span<float> to);

}  // namespace sluice
