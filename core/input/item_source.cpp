#include "core/input/item_source.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/input/fixed_source.hpp"
#include "core/input/input_file.hpp"
#include "core/input/text_source.hpp"

namespace sluice {
namespace {

std::unique_ptr<ItemSource> make_source(std::unique_ptr<const InputFile> file, const JobConfig::Input& input,
                                        const ItemCodec& codec) {
    switch (input.format) {
        case InputFormat::npy:
            return make_npy_source(std::move(file), codec);
        case InputFormat::onehot_f32:
            return make_fat_source(std::move(file), codec);
        case InputFormat::u8:
            return make_wire_source(std::move(file), codec);
        default:
            break;
    }
    refuse_lfs_pointer(*file);
    refuse_compressed(*file);
    switch (input.format) {
        case InputFormat::csv:
            return make_csv_source(std::move(file), input, codec);
        case InputFormat::jsonl:
            return make_jsonl_source(std::move(file), input, codec);
        default:
            return make_txt_source(std::move(file), codec);
    }
}

}  // namespace

std::unique_ptr<ItemSource> open_input(const JobConfig::Input& input, const ItemCodec& codec) {
    auto file = std::make_unique<const InputFile>(input.path);
    const std::string where = file->where();
    std::unique_ptr<ItemSource> source = make_source(std::move(file), input, codec);
    if (source->count() == 0 && !input.allow_empty) {
        throw Error(ExitCode::bad_data, {"E-INP-029", where, "no items (expected at least one)",
                                         "set [input].allow_empty = true if that is right"});
    }
    return source;
}

}  // namespace sluice
