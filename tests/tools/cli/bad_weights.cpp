#include <cstddef>
#include <limits>

#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t classifier_bytes = 47'632'400;  // 11,908,100 fp32 parameters

BadInput weights(std::string name, std::string file, std::string content, std::string id, std::string what) {
    return {std::move(name),
            good_job,
            {{file, std::move(content)}},
            {"--set", "model.weights=" + file},
            65,
            std::move(id),
            file,
            std::move(what)};
}

std::string little_endian(std::uint64_t number) {
    std::string bytes;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        bytes += static_cast<char>((number >> shift) & 0xFFU);
    }
    return bytes;
}

BadInput safetensors(std::string name, const std::string& header, std::size_t data_bytes, std::string id,
                     std::string what) {
    return weights(std::move(name), "m.safetensors",
                   little_endian(header.size()) + header + std::string(data_bytes, '\0'), std::move(id),
                   std::move(what));
}

/// One tensor 'a' with these values.
std::string tensor(const char* dtype, const char* shape, const char* offsets) {
    return std::string("{\"a\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
           "}}";
}

std::string many_tensors(int count) {
    std::string header = "{";
    for (int i = 0; i < count; ++i) {
        header +=
            (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
    }
    return header + "}";
}

BadInput sparse(BadInput row, std::uint64_t bytes) {
    row.files.front().bytes = bytes;
    return row;
}

BadInput with_exit_code(BadInput row, int exit_code) {
    row.exit_code = exit_code;
    return row;
}

}  // namespace

std::vector<BadInput> bad_weights() {
    const std::string two_overlapping =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}";
    const std::string twice =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}";
    const std::string nan = std::string("\x00\x00\xc0\x7f", 4);
    return {
        {"NoWeights",
         good_job,
         {},
         {"--set", "model.weights=none.safetensors"},
         66,
         "E-MOD-036",
         "none.safetensors",
         "No such"},
        {"NeitherInputNorWeights",
         good_job,
         {},
         {"--set", "model.weights=none.safetensors", "--set", "input.path=none.txt"},
         66,
         "E-INP-028",
         "none.txt",
         "No such"},
        {"WeightsAreAFolder",
         good_job,
         {{"m.bin/x", ""}},
         {"--set", "model.weights=m.bin"},
         66,
         "E-MOD-036",
         "m.bin",
         "not a regular file"},
        weights("EmptyWeights", "m.safetensors", "", "E-MOD-037", "0 bytes"),
        weights("SevenBytes", "m.safetensors", "1234567", "E-MOD-037", "7 bytes"),
        weights("HeaderBeyondTheFile", "m.safetensors", little_endian(1000) + "{}", "E-MOD-038", "claims 1000 bytes"),
        weights("HugeHeader", "m.safetensors", little_endian(std::numeric_limits<std::uint64_t>::max()) + "{}",
                "E-MOD-038", "claims 18446744073709551615 bytes"),
        sparse(weights("HeaderBeyondTheLimit", "m.safetensors", little_endian(100'000'001) + "{", "E-MOD-038",
                       "claims 100000001 bytes"),
               200'000'000),
        safetensors("HeaderIsNoObject", "[1]", 0, "E-MOD-039", "does not start with '{'"),
        safetensors("HeaderIsNoJson", "{\"a\":}", 0, "E-MOD-039", "JSON"),
        safetensors("HeaderNotUtf8", "{\"\xff\":1}", 0, "E-MOD-039", "JSON"),
        safetensors("DeepHeader", "{\"a\":" + repeated("[", 1'000'000), 0, "E-MOD-039", "unexpected"),
        safetensors("TensorTwice", twice, 8, "E-MOD-040", "'a' appears twice"),
        safetensors("UnknownType", tensor("F99", "[1]", "[0,4]"), 4, "E-MOD-041", "unknown dtype 'F99'"),
        safetensors("NegativeSize", tensor("F32", "[-1]", "[0,4]"), 4, "E-MOD-042", "got -1"),
        safetensors("NegativeZero", tensor("F32", "[-0]", "[0,4]"), 4, "E-MOD-042", "got -0"),
        safetensors("FractionalSize", tensor("F32", "[1.5]", "[0,4]"), 4, "E-MOD-042", "1.5"),
        safetensors("SizeBeyond64Bits", tensor("F32", "[18446744073709551616]", "[0,4]"), 4, "E-MOD-042",
                    "18446744073709551616"),
        safetensors("ShapeOverflows", tensor("F32", "[4294967296,4294967296,16]", "[0,4]"), 4, "E-MOD-043",
                    "overflows"),
        safetensors("OffsetsInverted", tensor("F32", "[1]", "[4,0]"), 4, "E-MOD-044", "[4, 0]"),
        safetensors("OffsetsBeyondTheFile", tensor("F32", "[2]", "[0,8]"), 4, "E-MOD-044", "[0, 8]"),
        safetensors("Overlap", two_overlapping, 12, "E-MOD-044", "overlap"),
        safetensors("TrailingBytes", tensor("F32", "[1]", "[0,4]"), 5, "E-MOD-044", "trailing"),
        safetensors("OffsetsUnlikeTheShape", tensor("F32", "[2]", "[0,4]"), 4, "E-MOD-045", "4 bytes"),
        safetensors("RankTooHigh", tensor("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "E-MOD-046", "more than 8"),
        safetensors("LongName", "{\"" + std::string(513, 'n') + "\":{}}", 0, "E-MOD-046", "513 bytes"),
        safetensors("TooManyTensors", many_tensors(100'001), 0, "E-MOD-046", "more than 100000 tensors"),
        safetensors("TensorMissing", tensor("F32", "[1]", "[0,4]"), 4, "E-MOD-047", "'w_conv1' is missing"),
        weights("RawSize", "m.bin", std::string(1000, 'x'), "E-MOD-048", "got 1000 bytes, expected 47632400"),
        weights("WeightsAreALfsPointer", "m.safetensors", "version https://git-lfs.github.com/spec/v1\n", "E-MOD-049",
                "Git LFS"),
        weights("WeightsAreAZip", "m.bin", "PK\x03\x04 and so on", "E-MOD-050", "PyTorch zip"),
        weights("WeightsAreAPickle", "m.bin", "\x80\x02}q", "E-MOD-050", "pickle"),
        weights("WeightsAreGguf", "m.safetensors", "GGUF\x03 and so on", "E-MOD-050", "GGUF"),
        weights("WeightsAreAPage", "m.safetensors", "<!DOCTYPE html><html>", "E-MOD-050", "HTML"),
        {"RandomWeightsLargerThanAnyMachine",
         "app = \"gpt2\"\ninput.path = \"articles.txt\"\noutput.path = \"labels.csv\"\n"
         "model = {random = 1, config = \"config.json\"}\ngenerate = {prompts = \"ids\", results = \"ids\"}\n",
         {{"config.json",
           "{\"model_type\":\"gpt2\",\"activation_function\":\"gelu_new\",\"vocab_size\":1000,"
           "\"n_positions\":1024,\"n_embd\":1048576,\"n_layer\":1000,\"n_head\":8192}"}},
         {},
         71,
         "E-MEM-068",
         "model.random",
         "the weights take 49"},
        with_exit_code(sparse(weights("WeightsAreNotFinite", "m.bin", nan, "E-NUM-051", "'w_conv1': element 0 is nan"),
                              classifier_bytes),
                       81),
    };
}

}  // namespace sluice::test
