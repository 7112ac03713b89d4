#include "core/weights/weights_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files/opened_file.hpp"
#include "core/files/paths.hpp"
#include "core/input/lfs_pointer.hpp"
#include "core/sync/work_team.hpp"
#include "core/weights/weight_values.hpp"

namespace sluice {
namespace {

static_assert(std::endian::native == std::endian::little, "weights files are little endian");

constexpr std::size_t piece_values = std::size_t{1} << 18;  // 1 MiB as fp32: checked while still in the cache

struct Magic {
    std::string_view bytes;
    const char* id;
    const char* what;
    const char* hint;
};

constexpr const char* convert = "convert it to safetensors";
constexpr std::array<Magic, 10> magics{{
    {lfs_pointer_start, "E-MOD-049", "looks like a Git LFS pointer, not like weights", "run git lfs pull"},
    {"PK\x03\x04", "E-MOD-050", "this is a PyTorch zip archive (PK…), not safetensors", convert},
    {"\x80\x02", "E-MOD-050", "this is a Python pickle, not safetensors", convert},
    {"\x80\x03", "E-MOD-050", "this is a Python pickle, not safetensors", convert},
    {"\x80\x04", "E-MOD-050", "this is a Python pickle, not safetensors", convert},
    {"\x80\x05", "E-MOD-050", "this is a Python pickle, not safetensors", convert},
    {"GGUF", "E-MOD-050", "this is a GGUF file, not safetensors", convert},
    {"<!doctype", "E-MOD-050", "this is an HTML page, not safetensors", "download the file itself"},
    {"<html", "E-MOD-050", "this is an HTML page, not safetensors", "download the file itself"},
    {"<?xml", "E-MOD-050", "this is an XML page, not safetensors", "download the file itself"},
}};

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool begins_with(std::string_view text, const Magic& magic) {
    const bool page = magic.bytes.starts_with('<');
    return text.size() >= magic.bytes.size() &&
           std::equal(magic.bytes.begin(), magic.bytes.end(), text.begin(),
                      [&](char want, char got) { return want == (page ? lower(got) : got); });
}

Descriptor open_weights(const std::filesystem::path& path, const std::string& where) {
    OpenedFile opened = open_file(path);
    if (!opened.is_regular()) {
        std::string hint = "check [model] weights";
        if (opened.is_folder()) {
            hint = fmt::format("name a file in it, as in {}", escaped((path / "model.safetensors").native()));
        } else if (opened.error == ENOENT) {
            hint = hint_for_missing(std::move(hint), path);
        }
        throw Error(ExitCode::no_input, {"E-MOD-036", where, opened.problem(), std::move(hint)});
    }
    return std::move(opened.file);
}

struct Piece {
    const StoredValues* of;
    std::size_t first;  // of its values
    std::size_t count;

    [[nodiscard]] std::span<std::byte> to() const {
        return of->to.subspan(first * bytes_of(of->as), count * bytes_of(of->as));
    }
    [[nodiscard]] WeightValues values() const { return {of->as, to()}; }
};

std::vector<Piece> pieces_of(std::span<const StoredValues> values) {
    std::vector<Piece> pieces;
    for (const StoredValues& stored : values) {
        const std::size_t count = stored.to.size() / bytes_of(stored.as);
        for (std::size_t first = 0; first < count; first += piece_values) {
            pieces.push_back({&stored, first, std::min(piece_values, count - first)});
        }
    }
    return pieces;
}

void read_piece(const Piece& piece) {
    const StoredValues& of = *piece.of;
    // Values to be widened are read into the end of their room: each is taken before its float overwrites it.
    const std::span<std::byte> to = piece.to();
    const std::span<std::byte> stored = to.last(piece.count * bytes_of(of.type));
    of.file->read(of.at + piece.first * bytes_of(of.type), stored);
    if (of.as != of.type) {
        widen(of.type, stored, {reinterpret_cast<float*>(to.data()), piece.count});
    }
}

/// The first number whose bits of `exponent` are all set, or else how many there are.
template <class Bits>
std::size_t find_nonfinite(std::span<const std::byte> bytes, Bits exponent) {
    const std::size_t count = bytes.size() / sizeof exponent;
    for (std::size_t i = 0; i < count; ++i) {
        Bits bits = 0;
        std::memcpy(&bits, &bytes[i * sizeof bits], sizeof bits);
        if ((bits & exponent) == exponent) {
            return i;
        }
    }
    return count;
}

std::size_t find_nonfinite(const WeightValues& values) {
    switch (values.type()) {
        case FloatType::f16:
            return find_nonfinite(values.bytes(), std::uint16_t{0x7c00});
        case FloatType::bf16:
            return find_nonfinite(values.bytes(), std::uint16_t{0x7f80});
        default:
            return find_nonfinite(values.bytes(), std::uint32_t{0x7f800000});
    }
}

[[noreturn]] void refuse_nonfinite(const Piece& piece) {
    const std::size_t bad = find_nonfinite(piece.values());
    throw Error(ExitCode::numeric, {"E-NUM-051", piece.of->file->where(),
                                    fmt::format("tensor {}: element {} is {}", sluice::quoted(piece.of->tensor),
                                                piece.first + bad, piece.values()[bad]),
                                    "train or export the weights again"});
}

[[noreturn]] void refuse_changed(const std::string& where) {
    throw Error(ExitCode::bad_data, {"E-MOD-053", where, "the file changed or shrank while it was read",
                                     "run again once nothing writes to it"});
}

}  // namespace

WeightsFile::WeightsFile(const std::filesystem::path& path)
    : where_(escaped(path.native())), watched_(open_weights(path, where_), path) {}

void WeightsFile::read(std::uint64_t at, std::span<std::byte> to) const {
    const auto [bytes, error] = watched_.read_at(at, to);
    if (error != 0) {
        throw Error(ExitCode::io_error,
                    {"E-IO-003", where_, fmt::format("cannot read: {}", system_text(error)), "check the file system"});
    }
    if (bytes < to.size()) {
        refuse_changed(where_);
    }
}

void WeightsFile::check_unchanged() const {
    if (!watched_.change().empty()) {
        refuse_changed(where_);
    }
}

void WeightsFile::check_content() const {
    if (const std::string what = watched_.change_of_content(); !what.empty()) {
        throw Error(ExitCode::bad_data,
                    {"E-MOD-054", where_, what, "do not change the weights while a job runs; then run it again"});
    }
}

void WeightsFile::refuse_known_others() const {
    std::array<char, 64> first{};
    const std::size_t count = std::min<std::size_t>(first.size(), size());
    read(0, std::as_writable_bytes(std::span(first.data(), count)));
    for (const Magic& magic : magics) {
        if (begins_with({first.data(), count}, magic)) {
            throw Error(ExitCode::bad_data, {magic.id, where_, magic.what, magic.hint});
        }
    }
}

void read_finite(std::span<const StoredValues> values) {
    const std::vector<Piece> pieces = pieces_of(values);
    const auto count = static_cast<std::uint32_t>(pieces.size());
    std::atomic<std::uint32_t> first_bad = count;
    const auto read = [&](std::uint32_t number) {
        if (number > first_bad) {
            return;
        }
        read_piece(pieces[number]);
        if (find_nonfinite(pieces[number].values()) != pieces[number].count) {
            std::uint32_t known = first_bad;
            while (number < known && !first_bad.compare_exchange_weak(known, number)) {
            }
        }
    };
    WorkTeam(std::min(std::max(count, 1U) - 1, startup_helpers())).run(count, read);
    if (first_bad < count) {
        refuse_nonfinite(pieces[first_bad]);
    }
}

}  // namespace sluice
