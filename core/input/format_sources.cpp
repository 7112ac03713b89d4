#include "core/input/format_sources.hpp"

#include <utility>

namespace sluice {

std::unique_ptr<FileSource> make_file_source(std::shared_ptr<const InputFile> file, const JobConfig::Input& input,
                                             const ItemCodec& codec, const TextOptions& options) {
    switch (input.format) {
        case InputFormat::npy:
            return make_npy_source(std::move(file), codec);
        case InputFormat::onehot_f32:
            return make_dense_source(std::move(file), codec);
        case InputFormat::u8:
            return make_packed_source(std::move(file), codec);
        default:
            break;
    }
    refuse_lfs_pointer(*file);
    refuse_compressed(*file);
    switch (input.format) {
        case InputFormat::csv:
            return make_csv_source(std::move(file), input, codec, options);
        case InputFormat::jsonl:
            return make_jsonl_source(std::move(file), input, codec, options);
        default:
            return make_txt_source(std::move(file), input, codec, options);
    }
}

}  // namespace sluice
