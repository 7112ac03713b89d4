#include "tests/support/safetensors_writer.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/input/half.hpp"

namespace sluice::test {
namespace {

void append(std::string& data, FloatType type, float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto infinity = static_cast<std::uint16_t>(std::signbit(value) ? 0xfc00 : 0x7c00);
    const auto half = type == FloatType::bf16 ? static_cast<std::uint16_t>(bits >> 16U)
                      : std::isinf(value)     ? infinity
                                              : half_of(value);
    if (type == FloatType::f32) {
        data.append(reinterpret_cast<const char*>(&bits), sizeof bits);
        return;
    }
    if (type == FloatType::f16 ? float_of_half(half) != value : (bits & 0xffffU) != 0) {
        throw std::invalid_argument("write_safetensors: a value for which its type has no room");
    }
    data.append(reinterpret_cast<const char*>(&half), sizeof half);
}

void write(const std::filesystem::path& path, std::span<const TensorSpec> tensors, std::span<const float> values,
           std::span<const FloatType> types, const std::map<std::string, std::string>& metadata) {
    constexpr std::array names{"F32", "F16", "BF16"};
    constexpr std::size_t alignment = 8;  // the format asks for data that starts at a multiple of 8
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) {
        header["__metadata__"] = metadata;
    }
    std::string data;
    std::size_t next = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::size_t begin = data.size();
        for (const float value : values.subspan(next, static_cast<std::size_t>(tensors[i].elements()))) {
            append(data, types[i], value);
        }
        next += static_cast<std::size_t>(tensors[i].elements());
        header[tensors[i].name] = {{"dtype", names.at(static_cast<std::size_t>(types[i]))},
                                   {"shape", tensors[i].shape},
                                   {"data_offsets", {begin, data.size()}}};
    }
    if (next != values.size()) {
        throw std::invalid_argument("write_safetensors: the values' number differs from the tensors' sizes");
    }

    std::string json = header.dump();
    json.resize((json.size() + alignment - 1) / alignment * alignment, ' ');
    const std::uint64_t length = json.size();
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file.write(json.data(), static_cast<std::streamsize>(json.size()));
    file.write(data.data(), static_cast<std::streamsize>(data.size()));
    file.close();
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       std::span<const float> values, const std::map<std::string, std::string>& metadata) {
    write(path, tensors, values, std::vector<FloatType>(tensors.size(), FloatType::f32), metadata);
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       std::span<const float> values, std::span<const FloatType> types) {
    write(path, tensors, values, types, {});
}

}  // namespace sluice::test
