#include "tests/support/safetensors_writer.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace sluice::test {

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       std::span<const float> values, const std::map<std::string, std::string>& metadata) {
    constexpr std::size_t alignment = 8;  // the format asks for data that starts at a multiple of 8
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) {
        header["__metadata__"] = metadata;
    }
    std::uint64_t at = 0;
    for (const TensorSpec& spec : tensors) {
        const std::uint64_t end = at + spec.elements() * sizeof(float);
        header[spec.name] = {{"dtype", "F32"}, {"shape", spec.shape}, {"data_offsets", {at, end}}};
        at = end;
    }
    if (at != values.size_bytes()) {
        throw std::invalid_argument("write_safetensors: the values' number differs from the tensors' sizes");
    }

    std::string json = header.dump();
    json.resize((json.size() + alignment - 1) / alignment * alignment, ' ');
    const std::uint64_t length = json.size();
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file.write(json.data(), static_cast<std::streamsize>(json.size()));
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    file.close();
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

}  // namespace sluice::test
