#include "core/input/safetensors_sax.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace sluice {

void SafetensorsSax::refuse(const char* id, std::string what) const {
    throw Error(ExitCode::bad_data, {id, where_, std::move(what), "fetch or export the weights again"});
}

std::string SafetensorsSax::spot() const {
    switch (place_) {
        case Place::tensor:
        case Place::dtype:
        case Place::shape:
        case Place::offsets:
            return fmt::format("tensor {}", sluice::quoted(header_.tensors.back().name));
        case Place::metadata:
        case Place::metadata_value:
            return "__metadata__";
        default:
            return "the header";
    }
}

void SafetensorsSax::unexpected(const char* token) const {
    refuse("E-MOD-039", fmt::format("{}: unexpected {}", spot(), token));
}

void SafetensorsSax::enter() {
    if (++depth_ > safetensors_depth_limit) {
        refuse("E-MOD-039", fmt::format("the header is nested deeper than {}", safetensors_depth_limit));
    }
}

bool SafetensorsSax::null() {
    unexpected("null");
}
bool SafetensorsSax::boolean(bool) {
    unexpected("true or false");
}
bool SafetensorsSax::binary(binary_t&) {
    unexpected("binary");
}

bool SafetensorsSax::number_integer(number_integer_t value) {
    if (in_array_) {
        refuse("E-MOD-042", fmt::format("{}: got {}, expected a number from 0 to 2^64-1", spot(), value));
    }
    unexpected("number");
}

bool SafetensorsSax::number_float(number_float_t, const string_t& text) {
    if (in_array_) {
        refuse("E-MOD-042",
               fmt::format("{}: got {}, expected a whole number below 2^64", spot(), sluice::quoted(text)));
    }
    unexpected("number");
}

bool SafetensorsSax::number_unsigned(number_unsigned_t value) {
    if (!in_array_) {
        unexpected("number");
    }
    if (place_ == Place::shape) {
        if (header_.tensors.back().shape.size() == safetensors_rank_limit) {
            refuse("E-MOD-046", fmt::format("{}: more than {} dimensions", spot(), safetensors_rank_limit));
        }
        header_.tensors.back().shape.push_back(value);
    } else {
        if (offsets_.size() == 2) {
            refuse("E-MOD-044", fmt::format("{}: data_offsets has more than two numbers", spot()));
        }
        offsets_.push_back(value);
    }
    return true;
}

bool SafetensorsSax::string(string_t& value) {
    if (place_ == Place::dtype) {
        header_.tensors.back().dtype = value;
        has_dtype_ = true;
        place_ = Place::tensor;
    } else if (place_ == Place::metadata_value) {
        *metadata_value_ = value;
        place_ = Place::metadata;
    } else {
        unexpected("string");
    }
    return true;
}

bool SafetensorsSax::start_object(std::size_t) {
    enter();
    if (place_ == Place::start) {
        place_ = Place::top;
    } else if ((place_ == Place::tensor || place_ == Place::metadata) && depth_ == 2) {
        // key() has put us here
    } else {
        unexpected("'{'");
    }
    return true;
}

bool SafetensorsSax::key(string_t& value) {
    if (place_ == Place::top) {
        if (value == "__metadata__") {
            if (std::exchange(metadata_seen_, true)) {
                refuse("E-MOD-040", "__metadata__ appears twice in the header");
            }
            place_ = Place::metadata;
            return true;
        }
        if (value.size() > safetensors_name_limit) {
            refuse("E-MOD-046", fmt::format("a tensor's name has {} bytes, expected at most {}", value.size(),
                                            safetensors_name_limit));
        }
        if (header_.tensors.size() == safetensors_tensor_limit) {
            refuse("E-MOD-046", fmt::format("more than {} tensors", safetensors_tensor_limit));
        }
        if (!names_.insert(value).second) {
            refuse("E-MOD-040", fmt::format("tensor {} appears twice in the header", sluice::quoted(value)));
        }
        header_.tensors.push_back({.name = value, .dtype = {}, .shape = {}, .begin = 0, .end = 0});
        has_dtype_ = has_shape_ = has_offsets_ = false;
        place_ = Place::tensor;
    } else if (place_ == Place::metadata) {
        if (depth_ != 2) {
            unexpected("key");
        }
        const auto [entry, is_new] = header_.metadata.try_emplace(value);
        if (!is_new) {
            refuse("E-MOD-040", fmt::format("__metadata__ key {} appears twice", sluice::quoted(value)));
        }
        metadata_value_ = &entry->second;
        place_ = Place::metadata_value;
    } else {
        start_field(value);
    }
    return true;
}

void SafetensorsSax::start_field(const std::string& field) {
    const bool again = (field == "dtype" && has_dtype_) || (field == "shape" && has_shape_) ||
                       (field == "data_offsets" && has_offsets_);
    if (again) {
        refuse("E-MOD-040", fmt::format("{}: {} appears twice", spot(), sluice::quoted(field)));
    }
    if (field == "dtype") {
        place_ = Place::dtype;
    } else if (field == "shape") {
        place_ = Place::shape;
    } else if (field == "data_offsets") {
        place_ = Place::offsets;
        offsets_.clear();
    } else {
        refuse("E-MOD-039", fmt::format("{}: unknown key {}", spot(), sluice::quoted(field)));
    }
}

bool SafetensorsSax::end_object() {
    --depth_;
    if (place_ == Place::tensor) {
        finish_tensor();
        place_ = Place::top;
    } else if (place_ == Place::metadata) {
        place_ = Place::top;
    } else {
        place_ = Place::end;
    }
    return true;
}

void SafetensorsSax::finish_tensor() {
    if (!has_dtype_ || !has_shape_ || !has_offsets_) {
        const char* missing = !has_dtype_ ? "dtype" : !has_shape_ ? "shape" : "data_offsets";
        refuse("E-MOD-039", fmt::format("{}: '{}' is missing", spot(), missing));
    }
}

bool SafetensorsSax::start_array(std::size_t) {
    enter();
    if (in_array_ || (place_ != Place::shape && place_ != Place::offsets)) {
        unexpected("'['");
    }
    in_array_ = true;
    return true;
}

bool SafetensorsSax::end_array() {
    --depth_;
    in_array_ = false;
    if (place_ == Place::shape) {
        has_shape_ = true;
    } else {
        if (offsets_.size() != 2) {
            refuse("E-MOD-044", fmt::format("{}: data_offsets has {} numbers, expected two", spot(), offsets_.size()));
        }
        has_offsets_ = true;
        header_.tensors.back().begin = offsets_[0];
        header_.tensors.back().end = offsets_[1];
    }
    place_ = Place::tensor;
    return true;
}

bool SafetensorsSax::parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    refuse("E-MOD-039", fmt::format("the header is not valid JSON at its byte {}", position));
}

}  // namespace sluice
