// A tokenizer by itself, of VOCAB.json and MERGES.txt or of TOKENIZER.json alone; for tools/compare_tokenizer.py, which
// has a peer beside GPT-2's.
//   bench_tokenizer ids VOCAB MERGES         records from stdin to token ids on stdout, each behind its length: uint32
//   bench_tokenizer speed VOCAB MERGES FILE  MB a second of a core, a line of the file at a time, the median of 5
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpt2/tokenizer.hpp"
#include "core/error.hpp"
#include "tools/bench/median.hpp"

namespace sluice::bench {
namespace {

using gpt2::TokenId;
using gpt2::Tokenizer;

constexpr int repetitions = 5;
constexpr double enough_seconds = 0.4;
constexpr double mega = 1e6;

std::string contents_of(std::FILE* file) {
    std::string text;
    std::vector<char> buffer(std::size_t{1} << 20U);
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file)) {
        text.append(buffer.data(), got);
    }
    return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return lines;
}

void write_ids(const Tokenizer& tokenizer) {
    const std::string input = contents_of(stdin);
    std::vector<TokenId> ids;
    for (std::size_t at = 0; at < input.size();) {
        std::uint32_t length = 0;
        expects(input.size() - at >= sizeof length, "bench_tokenizer: a record without its length");
        at += input.copy(reinterpret_cast<char*>(&length), sizeof length, at);
        expects(input.size() - at >= length, "bench_tokenizer: a record that ends too early");
        ids.assign(1, 0);
        tokenizer.encode(std::string_view(input).substr(at, length), ids);
        ids[0] = static_cast<TokenId>(ids.size() - 1);
        at += length;
        expects(std::fwrite(ids.data(), sizeof(TokenId), ids.size(), stdout) == ids.size(), "bench_tokenizer: stdout");
    }
}

/// Repeats all lines for long enough.
double rate(const Tokenizer& tokenizer, const std::vector<std::string_view>& lines, std::size_t bytes) {
    std::vector<TokenId> ids;
    double done = 0;
    const std::clock_t begin = std::clock();  // CPU time: the machine may have other work
    const auto seconds = [&] { return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC; };
    while (seconds() < enough_seconds) {
        for (const std::string_view line : lines) {
            ids.clear();
            tokenizer.encode(line, ids);
        }
        done += static_cast<double>(bytes);
    }
    return done / seconds();
}

int measure(const Tokenizer& tokenizer, const char* path) {
    std::FILE* const file = std::fopen(path, "rb");
    if (file == nullptr) {
        fmt::print(stderr, "bench_tokenizer: cannot open {}\n", escaped(path));
        return 66;
    }
    const std::string text = contents_of(file);
    std::fclose(file);
    std::vector<double> rates(repetitions);
    std::ranges::generate(rates, [&] { return rate(tokenizer, lines_of(text), text.size()); });
    fmt::print("{:.2f}\n", median(rates) / mega);
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv, argv + argc);
    const bool gives_ids = argc > 1 && words[1] == "ids";
    const int files = argc - (gives_ids ? 2 : 3);  // of the tokenizer
    if ((files != 1 && files != 2) || (!gives_ids && words[1] != "speed")) {
        fmt::print(stderr,
                   "usage: bench_tokenizer ids (VOCAB MERGES | TOKENIZER)\n"
                   "       bench_tokenizer speed (VOCAB MERGES | TOKENIZER) FILE\n");
        return 64;
    }
    try {
        using sluice::gpt2::Tokenizer;
        const Tokenizer tokenizer =
            files == 1 ? Tokenizer::from_json(argv[2]) : Tokenizer::from_vocabulary(argv[2], argv[3]);
        if (!gives_ids) {
            return sluice::bench::measure(tokenizer, argv[argc - 1]);
        }
        sluice::bench::write_ids(tokenizer);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 65;
    }
}
