#include "core/weights/tensor_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/input/number_type.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t length_bytes = 8;  // a safetensors file starts with its header's length, u64 little endian

std::uint64_t total_elements(std::span<const TensorSpec> wanted) {
    std::uint64_t total = 0;
    for (const TensorSpec& spec : wanted) {
        total += spec.elements();
    }
    return total;
}

void expect_room(std::span<const TensorSpec> wanted, std::span<const float> to) {
    expects(total_elements(wanted) == to.size(), "tensor file: the values' room differs from the tensors' sizes");
}

std::uint64_t header_length(const WeightsFile& file) {
    std::array<std::byte, length_bytes> bytes{};
    file.read(0, bytes);
    return std::bit_cast<std::uint64_t>(bytes);
}

[[noreturn]] void refuse(const char* id, const std::string& where, std::string what, std::string hint) {
    throw Error(ExitCode::bad_data, {id, where, std::move(what), std::move(hint)});
}

std::string shape_text(std::span<const std::uint64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ","));
}

SafetensorsHeader read_header(const WeightsFile& file) {
    if (file.size() < length_bytes) {
        refuse("E-MOD-037", file.where(), fmt::format("{} bytes are too short for safetensors", file.size()),
               "fetch the weights again");
    }
    const std::uint64_t length = header_length(file);
    if (length > safetensors_header_limit || length > file.size() - length_bytes) {
        refuse("E-MOD-038", file.where(),
               fmt::format("the header claims {} bytes, the file has {} (limit {})", length, file.size(),
                           safetensors_header_limit),
               "fetch the weights again");
    }
    std::string json(static_cast<std::size_t>(length), '\0');
    file.read(length_bytes, std::as_writable_bytes(std::span(json)));
    return parse_safetensors_header(json, file.size() - length_bytes - length, file.where());
}

void check_wanted(const SafetensorsEntry& entry, const TensorSpec& spec, const std::string& where) {
    if (!find_float_type(entry.dtype)) {
        refuse_tensors(
            where, fmt::format("tensor {} is {}, expected F32, F16 or BF16", sluice::quoted(spec.name), entry.dtype),
            "export the weights as fp32");
    }
    if (entry.shape != spec.shape) {
        refuse_tensors(where, fmt::format("tensor {}: got shape {}, expected {}", sluice::quoted(spec.name),
                                          shape_text(entry.shape), shape_text(spec.shape)));
    }
}

void check_no_extra(std::span<const SafetensorsEntry> entries, std::span<const TensorSpec> wanted,
                    const std::string& where) {
    for (const SafetensorsEntry& entry : entries) {
        if (std::ranges::find(wanted, entry.name, &TensorSpec::name) == wanted.end()) {
            refuse_tensors(where, fmt::format("tensor {} is not one of this model's", sluice::quoted(entry.name)));
        }
    }
}

/// By its header.
bool looks_like_safetensors(const WeightsFile& file) {
    if (file.size() <= length_bytes) {
        return false;
    }
    const std::uint64_t length = header_length(file);
    std::byte first{};
    file.read(length_bytes, {&first, 1});
    return length > 0 && length <= file.size() - length_bytes && first == std::byte{'{'};
}

}  // namespace

void refuse_tensors(const std::string& where, std::string what, std::string hint) {
    refuse("E-MOD-047", where, std::move(what), std::move(hint));
}

std::uint64_t TensorSpec::elements() const noexcept {
    std::uint64_t count = 1;
    for (const std::uint64_t size : shape) {
        count *= size;  // a spec is the program's own, never a file's
    }
    return count;
}

TensorReader::TensorReader(const std::filesystem::path& path) : file_(path) {
    const bool has_header = looks_like_safetensors(file_);
    if (lower_extension(path) != ".safetensors" && !has_header) {
        return;
    }
    if (!has_header) {  // a header's length may begin with the bytes of another format
        file_.refuse_known_others();
    }
    is_headerless_ = false;
    header_ = read_header(file_);
    data_start_ = length_bytes + header_length(file_);
    for (const SafetensorsEntry& entry : header_.tensors) {
        by_name_.emplace(entry.name, &entry);
    }
}

const SafetensorsEntry* TensorReader::find(std::string_view name) const noexcept {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

const std::string* TensorReader::metadata(std::string_view key) const noexcept {
    const auto found = header_.metadata.find(key);
    return found == header_.metadata.end() ? nullptr : &found->second;
}

void TensorReader::read(std::span<const TensorSpec> wanted, std::span<float> to) const {
    expect_room(wanted, to);
    check(wanted);
    std::vector<StoredValues> values;
    std::uint64_t at = 0;
    for (const TensorSpec& spec : wanted) {
        const auto part = to.first(static_cast<std::size_t>(spec.elements()));
        const std::span<std::byte> room = std::as_writable_bytes(part);
        values.push_back(is_headerless() ? StoredValues{&file_, at, FloatType::f32, room, FloatType::f32, spec.name}
                                         : stored(spec, FloatType::f32, room));
        at += part.size_bytes();
        to = to.subspan(part.size());
    }
    read_finite(values);
    file_.check_unchanged();
}

void TensorReader::check(std::span<const TensorSpec> wanted) const {
    is_headerless() ? check_size(wanted) : check_named(wanted);
}

const SafetensorsEntry& TensorReader::entry_of(const TensorSpec& spec) const {
    const SafetensorsEntry* const entry = find(spec.name);
    if (entry == nullptr) {
        refuse_tensors(where(), fmt::format("tensor {} is missing", sluice::quoted(spec.name)));
    }
    check_wanted(*entry, spec, where());
    return *entry;
}

FloatType TensorReader::type_of(const TensorSpec& wanted) const {
    return find_float_type(entry_of(wanted).dtype).value();
}

StoredValues TensorReader::stored(const TensorSpec& wanted, FloatType as, std::span<std::byte> to) const {
    const SafetensorsEntry& entry = entry_of(wanted);
    const FloatType type = find_float_type(entry.dtype).value();
    expects(to.size() == wanted.elements() * bytes_of(as) && (as == type || as == FloatType::f32),
            "tensor file: a tensor's room differs from its size or type");
    return {&file_, data_start_ + entry.begin, type, to, as, wanted.name};
}

void TensorReader::check_named(std::span<const TensorSpec> wanted) const {
    for (const TensorSpec& spec : wanted) {
        static_cast<void>(entry_of(spec));
    }
    check_no_extra(tensors(), wanted, where());
}

void TensorReader::check_size(std::span<const TensorSpec> wanted) const {
    const std::uint64_t expected = total_elements(wanted) * sizeof(float);
    if (file_.size() != expected) {
        file_.refuse_known_others();
        refuse("E-MOD-048", where(), fmt::format("got {} bytes, expected {}", file_.size(), expected),
               "check that the weights belong to this app");
    }
}

void read_tensors(const std::filesystem::path& path, std::span<const TensorSpec> wanted, std::span<float> to) {
    TensorReader(path).read(wanted, to);
}

}  // namespace sluice
