// Loaded by NVTX in place of a profiler (NVTX_INJECTION64_PATH). Writes a line for each range pushed, as "sluice upload
// 3" (domain, name, payload), and at the end the number of ranges left open, to the file SLUICE_TEST_RANGES.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

struct Ranges {
    std::mutex mutex;
    std::string lines;
    long open = 0;

    ~Ranges() {
        const char* const path = std::getenv("SLUICE_TEST_RANGES");
        if (std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w"); file != nullptr) {
            std::fprintf(file, "%s%ld open\n", lines.c_str(), open);
            std::fclose(file);
        }
    }
};

Ranges& ranges() {
    static Ranges ranges;
    return ranges;
}

// Handles are the names themselves, which live as long as the process.
nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
    return reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));
}

nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t /*domain*/, const char* name) {
    return reinterpret_cast<nvtxStringHandle_t>(new std::string(name));
}

int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
    const std::lock_guard lock(ranges().mutex);
    ranges().lines += *reinterpret_cast<const std::string*>(domain) + " " +
                      *reinterpret_cast<const std::string*>(range->message.registered) + " " +
                      std::to_string(range->payload.ullValue) + "\n";
    ++ranges().open;
    return 0;
}

int NVTX_API pop(nvtxDomainHandle_t /*domain*/) {
    const std::lock_guard lock(ranges().mutex);
    --ranges().open;
    return 0;
}

template <class Function>
void install(NvtxFunctionTable table, unsigned int number, Function function) {
    *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
    const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
        size <= NVTX_CBID_CORE2_DomainCreateA) {
        return 0;
    }
    static_cast<void>(ranges());  // destroyed at the end of the process
    install(table, NVTX_CBID_CORE2_DomainCreateA, &create_domain);
    install(table, NVTX_CBID_CORE2_DomainRegisterStringA, &register_string);
    install(table, NVTX_CBID_CORE2_DomainRangePushEx, &push);
    install(table, NVTX_CBID_CORE2_DomainRangePop, &pop);
    return 1;
}
