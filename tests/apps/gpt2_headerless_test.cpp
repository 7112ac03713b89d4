// The order of tensors in a file without a header.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/gpt2/config.hpp"
#include "apps/gpt2/tensors.hpp"
#include "core/weights/tensor_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gpt2_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sluice::gpt2 {
namespace {

/// Names and numbers of values in the order of the file without a header that docs/gpt2.md describes.
std::vector<std::pair<std::string, std::size_t>> headerless_order(const DecoderShape& shape,
                                                                  const std::vector<std::string>& blocks_by_text) {
    const std::size_t width = shape.width;
    const std::size_t inner = shape.inner;
    std::vector<std::pair<std::string, std::size_t>> order;
    for (const std::string& block : blocks_by_text) {
        order.insert(order.end(), {{"h." + block + ".attn.c_attn.bias", 3 * width},
                                   {"h." + block + ".attn.c_attn.weight", 3 * width * width},
                                   {"h." + block + ".attn.c_proj.bias", width},
                                   {"h." + block + ".attn.c_proj.weight", width * width},
                                   {"h." + block + ".ln_1.bias", width},
                                   {"h." + block + ".ln_1.weight", width},
                                   {"h." + block + ".ln_2.bias", width},
                                   {"h." + block + ".ln_2.weight", width},
                                   {"h." + block + ".mlp.c_fc.bias", inner},
                                   {"h." + block + ".mlp.c_fc.weight", width * inner},
                                   {"h." + block + ".mlp.c_proj.bias", width},
                                   {"h." + block + ".mlp.c_proj.weight", inner * width}});
    }
    order.insert(order.end(), {{"ln_f.bias", width},
                               {"ln_f.weight", width},
                               {"wpe.weight", shape.positions * width},
                               {"wte.weight", shape.vocabulary * width}});
    return order;
}

TEST(CheckpointWithoutHeader, HasTheTensorsOfThe124MModelByTheirNamesAsText) {
    std::vector<std::pair<std::string, std::size_t>> order;
    std::uint64_t bytes = 0;
    for (const TensorSpec& spec : gpt2_tensors(default_config().shape)) {
        order.emplace_back(spec.name, spec.elements());
        bytes += spec.elements() * sizeof(float);
    }

    EXPECT_EQ(order,
              headerless_order(default_config().shape, {"0", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"}));
    EXPECT_EQ(bytes, 497'759'232U);
}

/// Of eleven blocks, each value its tensor's number in the file.
TEST(CheckpointWithoutHeader, IsReadInTheOrderOfItsNamesAsText) {
    const DecoderShape shape = test::small_config().shape;
    ASSERT_EQ(shape.layers, 11U);
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "weights.bin";
    const auto order = headerless_order(shape, {"0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"});
    std::vector<float> values;
    std::map<std::string, float> numbers;
    for (const auto& [name, count] : order) {
        numbers[name] = static_cast<float>(numbers.size());
        values.insert(values.end(), count, numbers[name]);
    }
    test::write_file(file,
                     std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    std::vector<float> read(values.size());

    TensorReader(file).read(gpt2_tensors(shape), read);
    const TensorLayout layout(gpt2_tensors(shape), std::vector<FloatType>(order.size(), FloatType::f32));
    const DecoderWeights weights = gpt2_weights(shape, {layout, std::as_bytes(std::span(read))});

    const auto expect = [&](const std::string& name, const WeightValues& part) {
        const auto is_its_own = [&](float value) { return value == numbers.at(name); };
        EXPECT_TRUE(!part.empty() && std::ranges::all_of(part.floats(), is_its_own)) << name;
    };
    const auto expect_linear = [&](const std::string& name, const DecoderLinear& linear) {
        expect(name + ".weight", linear.weights);
        expect(name + ".bias", linear.bias);
    };
    const auto expect_norm = [&](const std::string& name, const DecoderNorm& norm) {
        expect(name + ".weight", norm.gamma);
        expect(name + ".bias", norm.beta);
    };
    for (std::size_t i = 0; i < weights.blocks.size(); ++i) {
        const std::string block = "h." + std::to_string(i) + ".";
        expect_linear(block + "attn.c_attn", weights.blocks[i].attention);
        expect_linear(block + "attn.c_proj", weights.blocks[i].projection);
        expect_norm(block + "ln_1", weights.blocks[i].attention_norm);
        expect_norm(block + "ln_2", weights.blocks[i].inner_norm);
        expect_linear(block + "mlp.c_fc", weights.blocks[i].expansion);
        expect_linear(block + "mlp.c_proj", weights.blocks[i].contraction);
    }
    expect_norm("ln_f", weights.last_norm);
    expect("wpe.weight", weights.positions);
    expect("wte.weight", weights.tokens);
}

}  // namespace
}  // namespace sluice::gpt2
