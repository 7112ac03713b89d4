#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec.hpp"
#include "core/error.hpp"
#include "core/input/item_source.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::test {

/// Text items as their length and their first bytes, so that a test can read them back; dense items of six small whole
/// numbers, one byte each; wire bytes below 70.
class FakeCodec : public ItemCodec {
public:
    explicit FakeCodec(std::size_t input_bytes = 256) : input_bytes_(input_bytes) {}

    [[nodiscard]] IoShape shape() const noexcept override { return {static_cast<std::uint32_t>(input_bytes_), 4}; }

    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override {
        const auto length = static_cast<std::uint32_t>(text.size());
        std::fill(to.begin(), to.end(), std::byte{0});
        std::memcpy(to.data(), &length, sizeof length);
        std::memcpy(to.data() + sizeof length, text.data(), std::min(text.size(), to.size() - sizeof length));
    }

    [[nodiscard]] std::vector<std::uint64_t> dense_shape() const override { return dense_shape_; }

    [[nodiscard]] ItemProblem pack_dense(std::span<const float> dense, std::span<std::byte> to) const override {
        for (std::size_t i = 0; i < dense.size(); ++i) {
            if (!(dense[i] >= 0 && dense[i] < 70)) {
                return {.what = "element " + std::to_string(i) + ": out of range"};
            }
            to[i] = static_cast<std::byte>(dense[i]);
        }
        return {};
    }

    [[nodiscard]] bool has_packed_form() const noexcept override { return true; }

    [[nodiscard]] ItemProblem check_packed(std::span<const std::byte> item) const override {
        const auto bad = std::find_if(item.begin(), item.end(), [](std::byte b) { return b >= std::byte{70}; });
        return bad == item.end() ? ItemProblem()
                                 : ItemProblem{.what = "byte " + std::to_string(bad - item.begin()) + ": out of range"};
    }

    [[nodiscard]] std::vector<OutputField> output_fields() const override { return {{"label", FieldType::int32, 1}}; }

    void set_dense_shape(std::vector<std::uint64_t> shape) { dense_shape_ = std::move(shape); }

private:
    std::size_t input_bytes_;
    std::vector<std::uint64_t> dense_shape_ = {2, 3};
};

class IoTest : public testing::Test {
protected:
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

    std::filesystem::path write(std::string_view name, std::string_view bytes) const {
        const std::filesystem::path path = folder() / name;
        write_file(path, bytes);
        return path;
    }

    [[nodiscard]] std::vector<std::string> names_in_folder() const { return names_in(folder()); }

private:
    TemporaryFolder folder_;
};

/// All items, read `step` at a time.
inline std::vector<std::byte> read_all(const ItemSource& source, const ItemCodec& codec, std::uint32_t step) {
    const std::size_t item_bytes = codec.shape().input_bytes;
    std::vector<std::byte> items(source.count() * item_bytes);
    for (std::uint64_t first = 0; first < source.count(); first += step) {
        const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(step, source.count() - first));
        source.read(first, count, std::span(items).subspan(first * item_bytes, count * item_bytes));
    }
    return items;
}

/// The texts that FakeCodec was given.
inline std::vector<std::string> texts_of(const ItemSource& source, const ItemCodec& codec) {
    const std::vector<std::byte> items = read_all(source, codec, 7);
    const std::size_t item_bytes = codec.shape().input_bytes;
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < items.size(); at += item_bytes) {
        std::uint32_t length = 0;
        std::memcpy(&length, items.data() + at, sizeof length);
        const auto kept = std::min<std::size_t>(length, item_bytes - sizeof length);
        texts.emplace_back(reinterpret_cast<const char*>(items.data()) + at + sizeof length, kept);
    }
    return texts;
}

/// Where, id and code at once, so that a table row is a line.
inline std::string summary_of(const Error& error) {
    const std::string& where = error.text().where;
    return std::to_string(static_cast<int>(error.code())) + " " + error.text().id + " " +
           where.substr(where.rfind('/') + 1) + ": " + error.text().what;
}

/// The summary of what opening the input and reading all of it threw, or "none".
inline std::string failure_of(const JobConfig::Input& input, const ItemCodec& codec) {
    try {
        static_cast<void>(read_all(*open_input(input, codec), codec, 5));
    } catch (const Error& error) {
        return summary_of(error);
    }
    return "none";
}

}  // namespace sluice::test
