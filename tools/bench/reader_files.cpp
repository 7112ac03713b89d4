#include "tools/bench/reader_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <random>
#include <span>
#include <system_error>

#include "core/error.hpp"

namespace sluice::bench {
namespace {

constexpr std::size_t text_block_items = 4096;
constexpr std::size_t dense_block_items = 64;

[[noreturn]] void refuse(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

/// Of the mean length of the news articles of docs/performance.md, 236 characters.
std::string random_text(std::mt19937& engine) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzETAOIN0123456789-,;.!?:'/|_@#$%&*";
    std::uniform_int_distribution<std::size_t> length(36, 436);
    std::uniform_int_distribution<std::size_t> letter(0, letters.size() - 1);
    std::string text(length(engine), ' ');
    for (char& c : text) {
        c = engine() % 6 == 0 ? ' ' : letters[letter(engine)];
    }
    return text;
}

std::vector<std::string> random_texts(std::size_t count) {
    std::mt19937 engine(29);
    std::vector<std::string> texts(count);
    std::generate(texts.begin(), texts.end(), [&] { return random_text(engine); });
    return texts;
}

std::vector<std::byte> encoded(std::span<const std::string> texts, const ItemCodec& codec) {
    const std::size_t item_bytes = codec.shape().input_bytes;
    std::vector<std::byte> items(texts.size() * item_bytes);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        codec.encode(i, texts[i], std::span(items).subspan(i * item_bytes, item_bytes));
    }
    return items;
}

/// Packed items as fp32 one-hot, (symbols, length) each; a byte that is no symbol is a column of zeros.
std::string one_hot(std::span<const std::byte> items, const ItemCodec& codec) {
    const std::size_t length = codec.shape().input_bytes;
    const std::vector<std::uint64_t> shape = codec.dense_shape();
    expects(shape.size() == 2 && shape[1] == length, "the app's fp32 form is one-hot over its packed form");
    const std::size_t item_floats = shape[0] * shape[1];
    std::vector<float> dense(items.size() / length * item_floats);
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (const auto symbol = std::to_integer<std::size_t>(items[i]); symbol < shape[0]) {
            dense[i / length * item_floats + symbol * length + i % length] = 1.0F;
        }
    }
    return {reinterpret_cast<const char*>(dense.data()), dense.size() * sizeof(float)};
}

/// Padded as by NumPy, so that the data begins at a multiple of 64 bytes.
std::string npy_header(std::uint64_t items, const ItemCodec& codec) {
    constexpr std::size_t before = 10;
    constexpr std::size_t whole = 128;
    const std::vector<std::uint64_t> shape = codec.dense_shape();
    std::string dict = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, {}), }}", items,
                                   shape.at(0), shape.at(1));
    dict.resize(whole - before - 1, ' ');
    dict += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(dict.size());
    header += '\0';
    return header + dict;
}

void write_all(int file, std::string_view bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0) {
            refuse("pwrite");
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
}

/// Returns the size of the file.
std::uint64_t write_repeated(const std::filesystem::path& path, std::string_view header, std::string_view block,
                             std::uint64_t times, std::uint32_t threads) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        refuse(path.string());
    }
    write_all(file, header, 0);
    std::atomic<std::uint64_t> next{0};
    std::vector<std::future<void>> writers;
    for (std::uint32_t i = 0; i < threads; ++i) {
        writers.push_back(std::async(std::launch::async, [&] {
            for (std::uint64_t at = next++; at < times; at = next++) {
                write_all(file, block, header.size() + at * block.size());
            }
        }));
    }
    for (std::future<void>& writer : writers) {
        writer.get();
    }
    if (::fsync(file) != 0 || ::close(file) != 0) {
        refuse(path.string());
    }
    return header.size() + times * block.size();
}

std::string csv_lines(std::span<const std::string> texts) {
    std::string lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        lines += fmt::format("\"{}\",\"{}\"\n", 1 + i % 4, texts[i]);
    }
    return lines;
}

std::string json_lines(std::span<const std::string> texts) {
    std::string lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        lines += fmt::format("{{\"class\": {}, \"text\": \"{}\"}}\n", 1 + i % 4, texts[i]);
    }
    return lines;
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& inside) {
    std::string name = (inside / "sluice-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        refuse(name);
    }
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;  // ignored in a destructor
    std::filesystem::remove_all(path_, ignored);
}

const std::vector<std::string_view>& reader_formats() {
    static const std::vector<std::string_view> formats{"bin", "npy", "u8", "csv", "jsonl"};
    return formats;
}

ReaderFile write_reader_file(const std::filesystem::path& folder, std::string_view format, std::uint64_t items,
                             const ItemCodec& codec, std::uint32_t threads) {
    const bool dense = format == "bin" || format == "npy";
    const std::vector<std::string> texts = random_texts(dense ? dense_block_items : text_block_items);
    const std::uint64_t times = std::max<std::uint64_t>(1, (items + texts.size() - 1) / texts.size());
    ReaderFile file{.items = times * texts.size(), .block = encoded(texts, codec)};
    file.input.paths = {folder / fmt::format("items.{}", format)};
    std::string header;
    std::string block;
    if (dense) {
        file.input.format = format == "bin" ? InputFormat::onehot_f32 : InputFormat::npy;
        header = format == "bin" ? "" : npy_header(file.items, codec);
        block = one_hot(file.block, codec);
    } else if (format == "u8") {
        file.input.format = InputFormat::u8;
        block.assign(reinterpret_cast<const char*>(file.block.data()), file.block.size());
    } else if (format == "csv") {
        file.input.format = InputFormat::csv;
        file.input.columns = {ColumnRef(2U)};
        block = csv_lines(texts);
    } else {
        expects(format == "jsonl", "write_reader_file knows the formats of reader_formats()");
        file.input.format = InputFormat::jsonl;
        file.input.columns = {ColumnRef("text")};
        block = json_lines(texts);
    }
    file.bytes = write_repeated(file.input.paths.front(), header, block, times, threads);
    return file;
}

}  // namespace sluice::bench
