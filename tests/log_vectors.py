"""Short logs with the figures that public threads report, and what the reader must find.

Each row: where the figures stand, the engine, the lines, the values of the only boot, and the
codes of its warnings. A list of values is a list of boots.
"""

V = "https://github.com/vllm-project/vllm/"
S = "https://github.com/sgl-project/sglang/"
L = "https://github.com/ggml-org/llama.cpp/"
O = "https://github.com/ollama/ollama/"  # noqa: E741
T = "https://github.com/NVIDIA/TensorRT-LLM/"

OFFLOAD = (
    'time={time} level=INFO source={source} msg={msg} layers.requested=-1 layers.model={model} '
    'layers.offload={offload} layers.split="" memory.available="[{free}]" '
    'memory.required.full="{full}" memory.required.partial="{partial}" '
    'memory.required.kv="{kv}" memory.required.allocations="[{full}]" '
    'memory.weights.total="{weights}" memory.weights.repeating="{weights}"'
)  # fmt: skip

ROWS = [
    # vLLM, from 2023 to 2026
    (V + "pull/13596 (before)", "vllm",
     """INFO 02-20 00:01:02 kv_cache_utils.py:522] # GPU blocks: 127626
INFO 02-20 00:01:02 kv_cache_utils.py:525] Maximum concurrency for 2048 tokens per request: 997.08x
""", {"num_gpu_blocks": 127626, "max_model_len": 2048, "max_concurrency": 997.08}, []),
    (V + "pull/13596 (after)", "vllm",
     """INFO 02-19 23:56:55 kv_cache_utils.py:524] GPU KV cache size: 2,042,016 tokens
INFO 02-19 23:56:55 kv_cache_utils.py:527] Maximum concurrency for 2,048 tokens per request: 997.08x
""", {"pool_tokens": 2042016, "max_model_len": 2048, "max_concurrency": 997.08}, []),
    (V + "pull/12569", "vllm",
     """INFO 01-30 03:18:12 gpu_model_runner.py:848] Loading model weights took 67.7229 GB
INFO 01-30 03:18:13 kv_cache_utils.py:395] # GPU blocks: 1381
INFO 01-30 03:18:13 kv_cache_utils.py:398] Maximum concurrency for 2048 tokens per request: 10.79x
""", {"weights_gib": 67.7229, "num_gpu_blocks": 1381, "max_concurrency": 10.79}, []),
    ("a log of 2025-02-13 on an L40S", "vllm",
     """   WARNING 02-13 15:01:39 fused_moe.py:806] Using default MoE config. Performance might be sub-optimal! Config file not found at /x.json
   INFO 02-13 15:01:40 kv_cache_utils.py:407] # GPU blocks: 33660
   INFO 02-13 15:01:40 kv_cache_utils.py:410] Maximum concurrency for 4096 tokens per request: 131.48x
   INFO 02-13 15:01:59 gpu_model_runner.py:1043] Graph capturing finished in 18 secs, took 0.62 GiB
""", {"num_gpu_blocks": 33660, "max_concurrency": 131.48, "cuda_graph_gib": 0.62}, ["moe_untuned"]),
    ("a log of 2023-08-22, Llama-2-13b", "vllm",
     """INFO 08-22 15:27:08 llm_engine.py:70] Initializing an LLM engine with config: model='meta-llama/Llama-2-13b-chat-hf', tokenizer_mode=auto, dtype=torch.float16, tensor_parallel_size=1, seed=0)
INFO 08-22 15:27:25 llm_engine.py:196] # GPU blocks: 865, # CPU blocks: 327
""", {"num_gpu_blocks": 865, "num_cpu_blocks": 327, "tp": 1,
      "model": "meta-llama/Llama-2-13b-chat-hf"}, []),
    ("a log of a Tesla T4", "vllm",
     """INFO 06-01 10:00:01 selector.py:129] Using XFormers backend.
INFO 06-01 10:00:09 model_runner.py:1060] Loading model weights took 5.7915 GB
INFO 06-01 10:00:19 gpu_executor.py:122] # GPU blocks: 10533, # CPU blocks: 7281
INFO 06-01 10:00:19 gpu_executor.py:126] Maximum concurrency for 4096 tokens per request: 41.14x
""", {"attention_backend": "XFormers", "weights_gib": 5.7915, "num_gpu_blocks": 10533,
      "max_concurrency": 41.14}, []),
    (V + "issues/5248", "vllm",
     "INFO 06-12 08:12:23 distributed_gpu_executor.py:45] # GPU blocks: 507, # CPU blocks: 1024\n",
     {"num_gpu_blocks": 507, "num_cpu_blocks": 1024}, []),
    ("a start without room, vLLM 0.4", "vllm",
     """INFO 05-01 08:12:23 distributed_gpu_executor.py:45] # GPU blocks: 0, # CPU blocks: 1024
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
""", {"num_gpu_blocks": 0}, []),
    (V + "pull/14447", "vllm",
     """(VllmWorkerProcess pid=521) INFO 04-12 08:21:19 [worker.py:267] model weights take 21.21GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 0.37GiB; the rest of the memory reserved for KV Cache is 1.57GiB.
(VllmWorkerProcess pid=507) INFO 04-12 08:21:19 [worker.py:267] Memory profiling takes 17.59 seconds
(VllmWorkerProcess pid=507) INFO 04-12 08:21:19 [worker.py:267] the current vLLM instance can use total_gpu_memory (23.58GiB) x gpu_memory_utilization (0.99) = 23.35GiB
(VllmWorkerProcess pid=507) INFO 04-12 08:21:19 [worker.py:267] model weights take 21.21GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 0.37GiB; the rest of the memory reserved for KV Cache is 1.57GiB.
""", {"weights_gib": 21.21, "memory_for_cache_gib": 1.57, "activation_peak_gib": 0.37,
      "non_torch_gib": 0.20, "gpu_memory_gib": 23.58, "gpu_memory_utilization": 0.99}, []),
    ("a log of 2025-12-11, two ranks", "vllm",
     """(Worker_TP0 pid=2412213) INFO 12-11 00:06:53 [gpu_worker.py:359] Available KV cache memory: 52.36 GiB
(EngineCore_DP0 pid=2412130) INFO 12-11 00:06:53 [kv_cache_utils.py:1286] GPU KV cache size: 686,320 tokens
(EngineCore_DP0 pid=2412130) INFO 12-11 00:06:54 [kv_cache_utils.py:1291] Maximum concurrency for 100,000 tokens per request: 6.86x
""", {"memory_for_cache_gib": 52.36, "pool_tokens": 686320, "max_concurrency": 6.86}, []),
    ("notes on Qwen3.5-122B NVFP4, April 2026", "vllm",
     """#   Model loading took 75.17 GiB (includes MTP drafter)
#   Available KV cache memory: 24.05 GiB
#   GPU KV cache size: 482,080 tokens
#   Maximum concurrency for 262,144 tokens per request: 6.42x
""", {"weights_gib": 75.17, "memory_for_cache_gib": 24.05, "pool_tokens": 482080,
      "max_concurrency": 6.42}, []),
    ("https://github.com/snakemake/snakemake-executor-plugin-slurm/issues/316", "vllm",
     """(VllmWorker rank=0 pid=3008574) INFO 05-29 23:37:00 [gpu_model_runner.py:1347] Model loading took 11.4384 GiB and 5.338305 seconds       │
(VllmWorker rank=1 pid=3008575) INFO 05-29 23:37:00 [gpu_model_runner.py:1347] Model loading took 11.4384 GiB and 5.682200 seconds       │
""", {"weights_gib": 11.4384}, []),
    ("https://github.com/vllm-project/vllm-omni/pull/1434", "vllm",
     """(Worker pid=55635) [Stage-1] INFO 02-23 03:40:38 [base.py:81] Available KV cache memory: 37.18 GiB (process-scoped)
(EngineCore_DP0 pid=53575) [Stage-1] INFO 02-23 03:40:38 [kv_cache_utils.py:1307] GPU KV cache size: 1,949,520 tokens
(EngineCore_DP0 pid=53575) [Stage-1] INFO 02-23 03:40:38 [kv_cache_utils.py:1312] Maximum concurrency for 65,536 tokens per request: 29.75x
""", {"memory_for_cache_gib": 37.18, "pool_tokens": 1949520, "max_concurrency": 29.75}, []),
    ("https://github.com/Sandermage/genesis-vllm-patches/issues/24", "vllm",
     """(Worker_TP0 pid=92375) INFO 05-08 16:18:24 [gpu_model_runner.py:4960] Model loading took 15.26 GiB memory and 23.107530 seconds
(Worker_TP0 pid=92375) INFO 05-08 16:18:24 [interface.py:645] Setting attention block size to 544 tokens to ensure that attention page size is >= mamba page size.
(Worker_TP0 pid=92375) INFO 05-08 16:18:24 [interface.py:669] Padding mamba page size by 2.64% to ensure that mamba page size and attention page size are exactly equal.
(Worker_TP6 pid=92381) INFO 05-08 16:18:25 [interface.py:645] Setting attention block size to 544 tokens to ensure that attention page size is >= mamba page size.
""", {"weights_gib": 15.26, "attention_block_tokens": 544, "padding_pct": 2.64}, []),
    ("https://github.com/gpustack/gpustack/issues/3098", "vllm",
     """(EngineCore_DP0 pid=1980) INFO 11-01 17:36:41 [cuda.py:366] Using Flash Attention backend on V1 engine.
(EngineCore_DP0 pid=1980) INFO 11-01 17:36:47 [gpu_model_runner.py:2653] Model loading took 5.2076 GiB and 5.149193 seconds
""", {"attention_backend": "Flash Attention", "weights_gib": 5.2076}, []),
    ("https://github.com/nlzy/vllm-gfx906/issues/44", "vllm",
     """(VllmWorker PP0_TP3 pid=4800) INFO 09-29 05:48:47 [rocm.py:250] Using Triton Attention backend on V1 engine.
(VllmWorker PP1_TP1 pid=4802) INFO 09-29 05:48:47 [rocm.py:250] Using Triton Attention backend on V1 engine.
""", {"attention_backend": "Triton Attention"}, []),
    (V + "pull/29137", "vllm",
     """(EngineCore_DP0 pid=1206446) INFO 11-21 10:26:22 [kv_cache_utils.py:1234] GPU KV cache size: 611,136 tokens
(EngineCore_DP0 pid=1206446) INFO 11-21 10:26:22 [kv_cache_utils.py:1239] Maximum concurrency for 40,960 tokens per request: 14.92x
(EngineCore_DP0 pid=1206446) INFO 11-21 10:26:25 [gpu_model_runner.py:4245] Graph capturing finished in 3 secs, took 0.71 GiB
""", {"pool_tokens": 611136, "max_concurrency": 14.92, "cuda_graph_gib": 0.71}, []),
    ("https://github.com/ai-dynamo/dynamo/issues/288", "vllm",
     "INFO 03-20 10:42:12 llm_engine.py:246] Initializing a V0 LLM engine (v0.7.2) with config: model='/data/models/hf/Qwen/Qwen2.5-7B-Instruct', speculative_config=None, dtype=torch.bfloat16, max_seq_len=16384, tensor_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto,  device_config=cuda, enable_prefix_caching=False, chunked_prefill_enabled=False\n",
     {"engine_version": "0.7.2", "max_model_len": 16384, "tp": 1, "enable_prefix_caching": False,
      "enforce_eager": False}, []),
    ("https://github.com/livepeer/ai-runner/pull/230", "vllm",
     "runner-llm-1  | INFO 12-20 00:49:35 llm_engine.py:237] Initializing an LLM engine (vdev) with config: model='/models/x', trust_remote_code=True, dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1\n",
     {"engine_version": "dev", "max_model_len": 8192, "tp": 2, "pp": 1}, []),
    (V + "pull/24127", "vllm",
     "(APIServer pid=2236552) INFO 09-09 11:51:35 [metrics.py:96] SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, Accepted throughput: 4.37 tokens/s, Drafted throughput: 4.92 tokens/s, Accepted: 262 tokens, Drafted: 295 tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712\n",
     {"num_speculative_tokens": 5, "~acceptance_rate": 0.888, "~accept_len": 5.44,
      "~accepted_tokens": 262, "~drafted_tokens": 295,
      "~acceptance_per_position": [0.983, 0.949, 0.915, 0.881, 0.712]}, []),
    ("https://github.com/vllm-project/vllm-ascend/issues/13665", "vllm",
     "(APIServer pid=6485) INFO 08-05 20:20:43 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 1.00, Accepted throughput: 0.00 tokens/s, Drafted throughput: 1.23 tokens/s, Accepted: 0 tokens, Drafted: 495 tokens, Per-position acceptance rate: 0.000, 0.000, 0.000, 0.000, 0.000, Avg Draft acceptance rate: 0.0%\n",
     {"num_speculative_tokens": 5, "~acceptance_rate": 0.0, "~accept_len": 1.0,
      "~drafted_tokens": 495}, []),
    (V + "issues/49011", "vllm",
     """(APIServer pid=7289) INFO 07-25 13:41:23 [api_utils.py:339]        █     █     █▄   ▄█
(APIServer pid=7289) INFO 07-25 13:41:23 [api_utils.py:339]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.25.1
(APIServer pid=7289) INFO 07-25 13:41:23 [api_utils.py:339]   █▄█▀ █     █     █     █  model   unsloth/Qwen3.6-27B-NVFP4
""", {"engine_version": "0.25.1", "model": "unsloth/Qwen3.6-27B-NVFP4"}, []),
    ("https://github.com/AEON-7/vllm-ultimate-dgx-spark/issues/3", "vllm",
     "vllm  | (EngineCore pid=81) WARNING 06-29 11:56:38 [nvfp4_utils.py:209] Your GPU does not have native support for FP4 computation but FP4 quantization is being used. Weight-only FP4 compression will be used leveraging the Marlin kernel. This may degrade performance for compute-heavy workloads.\n",
     {}, ["weight_only_fp4"]),
    (V + "pull/44483", "vllm",
     "(Worker_DP0_EP0 pid=5922) INFO 06-17 04:09:26 [cuda.py:378] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', 'FLEX_ATTENTION'].\n",
     {"attention_backend": "FLASH_ATTN"}, []),
    ("https://github.com/SergiioB/intel-arc-pro-b70-inference-cookbook/issues/4", "vllm",
     "(EngineCore pid=316) ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB KV cache is needed, which is larger than the available KV cache memory (4.25 GiB). Based on the available memory, the estimated maximum model length is 99760. Try increasing `gpu_memory_utilization`\n",
     {"max_model_len": 100000, "needed_gib": 4.26, "memory_for_cache_gib": 4.25,
      "max_model_len_possible": 99760}, []),
    ("four engines of one deployment, 2026", "vllm",
     """(EngineCore_DP0 pid=11) INFO 06-17 04:10:26 [kv_cache_utils.py:1307] GPU KV cache size: 11,577,333 tokens
(EngineCore_DP1 pid=12) INFO 06-17 04:10:26 [kv_cache_utils.py:1307] GPU KV cache size: 11,577,333 tokens
""", {"pool_tokens": 11577333}, []),
    ("0.33, the two capacity lines merged", "vllm",
     "(EngineCore pid=9) INFO 11-20 09:00:01 [kv_cache_utils.py:1147] GPU + host KV cache size: 1,200,000 tokens, Maximum concurrency for 131,072 tokens per request: 9.16x\n",
     {"pool_tokens": 1200000, "max_model_len": 131072, "max_concurrency": 9.16}, []),
    ("steady state of V0", "vllm",
     "INFO 11-21 10:01:00 metrics.py:345] Avg prompt throughput: 12.5 tokens/s, Avg generation throughput: 41.2 tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 7.3%, CPU KV cache usage: 0.0%.\nINFO 11-21 10:01:00 metrics.py:361] Prefix cache hit rate: GPU: 55.10%, CPU: 0.00%\n",
     {"~generation_tokens_per_s": 41.2, "~waiting_requests": 2, "~kv_cache_usage_pct": 7.3,
      "~prefix_cache_hit_pct": 55.1}, []),
    ("https://github.com/noonghunna/club-3090/issues/584", "vllm",
     """(Worker_TP3 pid=132) WARNING 07-05 17:28:26 [compilation.py:1405] CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for attention backend FlashInferBackend (support: AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE
(Worker_TP0 pid=129) WARNING 07-05 17:28:26 [kv_cache_utils.py:1208] Add 3 padding layers, may waste at most 6.25% KV cache memory
""", {"cudagraph_mode": "PIECEWISE", "padding_layers": 3, "padding_layers_waste_pct": 6.25},
     ["cudagraph_mode_reduced", "padding_layers"]),
    ("https://github.com/noonghunna/club-3090/issues/747", "vllm",
     "(Worker_TP0 pid=184) INFO 07-21 04:58:26 [flashinfer.py:780] FlashInfer resolved query dtypes: prefill=torch.bfloat16, decode=torch.bfloat16, decode_backend=flashinfer-native, kv_cache_dtype=torch.float8_e4m3fn, arch=sm86\n",
     {"compute_capability": "8.6"}, []),
    ("https://github.com/vllm-project/vllm-omni/pull/1434 (experts)", "vllm",
     "(Worker pid=55635) [Stage-1] WARNING 02-23 03:40:36 [fused_moe.py:1087] Using default MoE config. Performance might be sub-optimal! Config file not found at /x/configs/E=128,N=384,device_name=NVIDIA_H800.json\n",
     {"device_name": "NVIDIA_H800"}, ["moe_untuned"]),
    ("0.33 on ROCm", "vllm",
     "(EngineCore pid=7) INFO 11-20 09:00:01 [rocm.py:904] Using ROCM_ATTN backend out of potential backends: ['ROCM_ATTN', 'TRITON_ATTN'].\n(EngineCore pid=7) INFO 11-20 09:00:09 [gpu_worker.py:773] Available KV cache memory: 100.5 GiB\n",
     {"attention_backend": "ROCM_ATTN", "memory_for_cache_gib": 100.5}, []),
    (V + "pull/27521", "vllm",
     """(Worker_DP0_TP4_EP4 pid=5019) INFO 10-24 13:22:33 [gpu_worker.py:316] Available KV cache memory: 6.43 GiB
(Worker_DP0_TP7_EP7 pid=5022) INFO 10-24 13:22:33 [gpu_worker.py:316] Available KV cache memory: 6.44 GiB
""", {"memory_for_cache_gib": 6.43}, []),
    (V + "issues/49079", "vllm",
     "(EngineCore pid=266) INFO 07-19 10:16:40 [gpu_worker.py:891] Free memory on device (102.45/121.63 GiB) on startup. Desired GPU memory utilization is (0.8, 97.3 GiB). Actual usage is 21.0 GiB for weight, 25.5 GiB for peak activation, 0.4 GiB for non-torch memory, and 0.9 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=1`\n",
     {"free_memory_gib": 102.45, "gpu_memory_gib": 121.63, "gpu_memory_utilization": 0.8,
      "activation_peak_gib": 25.5, "cuda_graph_gib": 0.9}, []),
    (V + "issues/27604", "vllm",
     "(EngineCore_DP0 pid=1127182) INFO 10-27 20:11:24 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, data_parallel_size=1, quantization=None, kv_cache_dtype=fp8, device_config=cuda\n",
     {"engine_version": "0.11.0", "kv_dtype": "fp8", "max_model_len": 131072}, []),
    (V + "issues/43507", "vllm",
     """Using CutlassNvFp4LinearKernel for NVFP4 GEMM
Using 'MARLIN' NvFp4 MoE backend out of potential backends: ['FLASHINFER_TRTLLM', 'FLASHINFER_CUTEDSL', 'FLASHINFER_CUTEDSL_BATCHED', 'FLASHINFER_CUTLASS', 'VLLM_CUTLASS', 'MARLIN', 'EMULATION'].
Your GPU does not have native support for FP4 computation but FP4 quantization is being used. Weight-only FP4 compression will be used leveraging the Marlin kernel. This may degrade performance for compute-heavy workloads.
""", {"linear_kernel": "CutlassNvFp4LinearKernel", "moe_backend": "MARLIN"}, ["weight_only_fp4"]),
    (V + "issues/34249", "vllm",
     "(Worker_TP0_EP0 pid=955) INFO 02-10 20:34:43 [fp8.py:329] Using FLASHINFER_CUTLASS Fp8 MoE backend out of potential backends: ['AITER', 'FLASHINFER_TRTLLM', 'FLASHINFER_CUTLASS', 'DEEPGEMM'].\n",
     {"moe_backend": "FLASHINFER_CUTLASS"}, []),
    (V + "issues/7593", "vllm",
     """INFO 08-19 07:51:03 model_runner.py:732] Loading model weights took 2.3463 GB
(VllmWorkerProcess pid=13105) INFO 08-19 07:51:03 model_runner.py:732] Loading model weights took 2.3463 GB
(VllmWorkerProcess pid=13110) INFO 08-19 07:51:03 model_runner.py:732] Loading model weights took 2.3463 GB
INFO 08-19 07:51:08 distributed_gpu_executor.py:56] # GPU blocks: 22982, # CPU blocks: 6241
""", {"weights_gib": 2.3463, "num_gpu_blocks": 22982, "num_cpu_blocks": 6241}, []),
    # SGLang
    ("https://github.com/sgl-project/sglang/issues/7227", "sglang",
     """[2025-06-19 15:12:27] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=21.96 GB, mem usage=8.81 GB.
[2025-06-19 15:12:27] KV Cache is allocated. #tokens: 132681, K size: 9.11 GB, V size: 9.11 GB
[2025-06-19 15:12:27] Memory pool end. avail mem=3.46 GB
""", {"weights_gib": 8.81, "pool_tokens": 132681, "pool_gib": 18.22,
      "free_after_pool_gib": 3.46}, []),
    ("a log of 2025-07-14", "sglang",
     """[2025-07-14 05:48:43] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=7.37 GB, mem usage=15.02 GB.
[2025-07-14 05:48:43] KV Cache is allocated. #tokens: 38141, K size: 2.33 GB, V size: 2.33 GB
[2025-07-14 05:48:43] Memory pool end. avail mem=1.46 GB
[2025-07-14 05:49:02] Capture cuda graph end. Time elapsed: 18.07 s. mem usage=0.11 GB. avail mem=0.83 GB.
[2025-07-14 05:49:02] max_total_num_tokens=38141, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=0.83 GB
""", {"weights_gib": 15.02, "free_after_weights_gib": 7.37, "pool_tokens": 38141, "pool_gib": 4.66,
      "cuda_graph_gib": 0.11, "max_running_requests": 2048, "max_model_len": 131072,
      "free_after_pool_gib": 0.83, "architecture": "LlamaForCausalLM"}, []),
    (S + "pull/4826", "sglang",
     """[2025-03-27 21:33:30 TP0] Load weight end. type=Gemma3ForConditionalGeneration, dtype=torch.bfloat16, avail mem=131.08 GB, mem usage=8.13 GB.
[2025-03-27 21:33:31 TP0] KV Cache is allocated. #tokens: 834615, K size: 54.12 GB, V size: 54.12 GB
[2025-03-27 21:33:31 TP0] Memory pool end. avail mem=14.61 GB
""", {"weights_gib": 8.13, "pool_tokens": 834615, "pool_gib": 108.24,
      "free_after_pool_gib": 14.61}, []),
    (S + "issues/938", "sglang",
     "Decode batch. #running-req: 1010, #token: 55006, token usage: 0.93, gen throughput (token/s): 1397.13, #queue-req: 12279\n",
     {"~generation_tokens_per_s": 1397.13, "~running_requests": 1010,
      "~waiting_requests": 12279, "~kv_cache_usage_share": 0.93}, []),
    (S + "pull/30047", "sglang",
     """[2026-07-04 05:01:20 TP0] Prefill batch, #new-seq: 1, #new-token: 128, #cached-token: 70016, full token usage: 0.28, mamba usage: 0.20, #running-req: 1, #queue-req: 0, #pending-token: 0, npu graph: False, input throughput (token/s): 16.23
[2026-07-04 05:01:33 TP0] Decode batch, #running-req: 40, #full token: 350592, full token usage: 0.74, mamba num: 160, mamba usage: 0.80, accept len: 3.13, accept rate: 0.71, npu graph: True, gen throughput (token/s): 155.34, #queue-req: 0
""", {"~accept_len": 3.13, "~acceptance_rate": 0.71, "~generation_tokens_per_s": 155.34,
      "~cached_prompt_tokens": 70016, "~new_prompt_tokens": 128,
      "prefix_cache_hit_share": 70016 / 70144}, []),
    (S + "pull/22331", "sglang",
     "[2026-04-08 14:05:21 TP0] Decode batch, #running-req: 5, #token: 20800, token usage: 0.29, cuda graph: True, gen throughput (token/s): 144.95, #queue-req: 0\n",
     {"~generation_tokens_per_s": 144.95, "~running_requests": 5}, []),
    (S + "pull/22166", "sglang",
     "[2026-04-05 20:02:52] Prefill batch, #new-seq: 1, #new-token: 290, #cached-token: 0, token usage: 0.08, #running-req: 31, #queue-req: 0, cuda graph: True, input throughput (token/s): 1670.03\n",
     {"~prompt_tokens_per_s": 1670.03, "prefix_cache_hit_share": 0.0}, []),
    ("SGLang 0.5.17 with a draft head, August 2026", "sglang",
     """[2026-08-15 10:00:00] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 171008, K size: 5.22 GB, V size: 5.22 GB
[2026-08-15 10:00:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 171008, K size: 0.33 GB, V size: 0.33 GB
[2026-08-15 10:00:09] max_total_num_tokens=171008, context_len=169000, available_gpu_mem=8.27 GB
""", {"pool_tokens": 171008, "pool_gib": 10.44, "draft_k_gib": 0.33, "kv_dtype": "bf16"}, []),
    ("https://github.com/kvcache-ai/ktransformers/issues/1870", "sglang",
     """[2026-02-27 17:10:27 TP0] Load weight end. elapsed=653.47 s, type=Qwen3_5MoeForConditionalGeneration, dtype=torch.bfloat16, avail mem=19.08 GB, mem usage=3.76 GB.
[2026-02-27 17:10:28 TP1] Load weight end. elapsed=654.79 s, type=Qwen3_5MoeForConditionalGeneration, dtype=torch.bfloat16, avail mem=19.08 GB, mem usage=3.76 GB.
[2026-02-27 17:10:28 TP0] Using KV cache dtype: torch.bfloat16
[2026-02-27 17:10:28 TP0] Mamba Cache is allocated. max_mamba_cache_size: 82, conv_state size: 0.13GB, ssm_state size: 7.29GB
[2026-02-27 17:10:28 TP0] KV Cache is allocated. #tokens: 580364, K size: 4.15 GB, V size: 4.15 GB
[2026-02-27 17:10:28 TP1] KV Cache is allocated. #tokens: 580364, K size: 4.15 GB, V size: 4.15 GB
[2026-02-27 17:10:29 TP0] max_total_num_tokens=580364, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=1, context_len=8192, available_gpu_mem=3.63 GB
""", {"weights_gib": 3.76, "kv_dtype": "bf16", "max_mamba_cache_size": 82, "ssm_state_gib": 7.29,
      "pool_tokens": 580364, "pool_gib": 8.3, "max_running_requests": 1,
      "free_after_pool_gib": 3.63}, []),
    ("https://github.com/LMCache/LMCache/issues/2400", "sglang",
     """[2026-01-14 05:25:33] INFO server_args.py:1565: Attention backend not specified. Use fa3 backend by default.
[2026-01-14 05:25:33] server_args=ServerArgs(model_path='Qwen/Qwen3-14B', context_length=None, quantization=None, kv_cache_dtype='auto', mem_fraction_static=0.835, max_running_requests=None, chunked_prefill_size=8192, tp_size=1)
""", {"attention_backend": "fa3", "mem_fraction_static": 0.835, "chunked_prefill_size": 8192,
      "tp": 1, "model": "Qwen/Qwen3-14B"}, []),
    ("a start of an old release without a draft", "sglang",
     "[gpu=0] max_total_num_tokens=441841, max_prefill_tokens=16384, max_running_requests=4097, context_len=131072\n",
     {"pool_tokens": 441841, "max_running_requests": 4097, "max_model_len": 131072}, []),
    # llama.cpp
    ("a build of February 2025", "llama.cpp",
     """0.00.330.918 I load_tensors: offloaded 13/13 layers to GPU
0.00.330.922 I load_tensors:        CUDA0 model buffer size =    40.73 MiB
0.00.330.924 I load_tensors:   CPU_Mapped model buffer size =    23.11 MiB
0.00.343.292 I llama_init_from_model: n_ctx         = 512
0.00.343.294 I llama_init_from_model: flash_attn    = 0
0.00.343.328 I llama_kv_cache_init: kv_size = 512, offload = 1, type_k = 'f16', type_v = 'f16', n_layer = 12, can_shift = 1
0.00.343.665 I llama_kv_cache_init:      CUDA0 KV buffer size =     9.00 MiB
0.00.343.677 I llama_init_from_model: KV self size  =    9.00 MiB, K (f16):    4.50 MiB, V (f16):    4.50 MiB
0.00.348.102 I llama_init_from_model:      CUDA0 compute buffer size =    16.00 MiB
0.00.348.112 I llama_init_from_model:  CUDA_Host compute buffer size =     2.51 MiB
""", {"offloaded_layers": 13, "weights_mib": 40.73, "cpu_weights_mib": 23.11, "n_ctx": 512,
      "flash_attention": False, "cells": 512, "kv_mib": 9.0, "k_mib": 4.5, "k_type": "f16",
      "compute_buffer_mib": 16.0, "cpu_compute_buffer_mib": 2.51}, []),
    ("a build of October 2024", "llama.cpp",
     """\x1b[0mllm_load_tensors: offloaded 33/33 layers to GPU
00000.00.878.463 I llm_load_tensors:        CPU buffer size =   245.62 MiB
00000.00.878.464 I llm_load_tensors:      CUDA0 buffer size =  5049.71 MiB
00000.01.748.406 I llama_new_context_with_model: n_ctx      = 2048
00000.01.749.682 I llama_kv_cache_init:      CUDA0 KV buffer size =   640.00 MiB
00000.01.760.513 I llama_new_context_with_model:      CUDA0 compute buffer size =   162.00 MiB
""", {"weights_mib": 5049.71, "cpu_weights_mib": 245.62, "n_ctx": 2048, "kv_buffer_mib": 640.0,
      "compute_buffer_mib": 162.0, "offloaded_share": 1.0}, []),
    ("https://github.com/SciSharp/LLamaSharp/issues/1099", "llama.cpp",
     """  Device 0: NVIDIA GeForce RTX 4080 SUPER, compute capability 8.9, VMM: yes
build: 4701 (be3bbd62) with MSVC 19.41.34120.0 for x64
[llama Info]: llama_kv_cache_init:      CUDA0 KV buffer size =   144.00 MiB
[llama Info]: llama_init_from_model: KV self size  =  144.00 MiB, K (f16):   72.00 MiB, V (f16):   72.00 MiB
[llama Info]: llama_init_from_model:      CUDA0 compute buffer size =   300.75 MiB
""", {"compute_capability": "8.9", "engine_version": "4701", "kv_mib": 144.0,
      "device_name": "NVIDIA GeForce RTX 4080 SUPER", "compute_buffer_mib": 300.75}, []),
    (L + "pull/11397", "llama.cpp",
     "llama_kv_cache_init: layer 38: n_embd_k_gqa = 24576, n_embd_v_gqa = 16384\n",
     {"n_embd_k_gqa": 24576, "n_embd_v_gqa": 16384, "mla_expanded": True}, []),
    (L + "pull/8359", "llama.cpp",
     'INFO [           print_timings] prompt eval time     =    1048.86 ms /   221 tokens (    4.75 ms per token,   210.70 tokens per second) | tid="0x16c11f000" timestamp=1720645909\n'
     'INFO [           print_timings] generation eval time =     828.09 ms /    23 runs   (   36.00 ms per token,    27.77 tokens per second) | tid="0x16c11f000"\n',
     {"~prompt_tokens_per_s": 210.70, "~prompt_tokens": 221, "~generation_tokens_per_s": 27.77}, []),
    ("a tool's own timings", "llama.cpp",
     "llama_print_timings:        eval time =    4321.12 ms /   123 runs   (   34.95 ms per token,    28.62 tokens per second)\n",
     {"~generation_tokens_per_s": 28.62}, []),
    ("a hybrid model on a build of August 2026", "llama.cpp",
     """llama_kv_cache: size = 1088.00 MiB ( 32768 cells,  16 layers,  1/1 seqs), K (q8_0):  544.00 MiB, V (q8_0):  544.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =   149.62 MiB
llama_memory_recurrent: size =  149.62 MiB (     1 cells,  64 layers,  1 seqs 0 rs_seq), R (f32):    5.62 MiB, S (f32):  144.00 MiB, P (f32):    0.00 MiB
llama_context: n_ctx_seq (32768) < n_ctx_train (262144) -- the full capacity of the model will not be utilized
""", {"cells": 32768, "kv_layers": 16, "k_type": "q8_0", "state_mib": 149.62, "state_layers": 64,
      "max_model_len": 32768, "training_context": 262144}, ["context_below_training_context"]),
    (L + "pull/26296", "llama.cpp",
     """0.00.325.784 I srv    load_model: loading model '/x/Qwen3.6-27B-Q4_K_M.gguf'
0.03.644.559 I common_speculative_init_result: creating MTP draft context against the target model '/x/Qwen3.6-27B-Q4_K_M.gguf'
0.03.883.647 I srv    load_model: initializing, n_slots = 1, n_ctx_slot = 65536, kv_unified = 'false'
0.04.159.683 I srv  llama_server: listening on http://192.168.18.10:8080
""", {"started": True, "slot_context": 65536, "n_parallel": 1, "kv_unified": False}, []),
    ("https://github.com/ggml-org/llama.vim/issues/128", "llama.cpp",
     "[41907] 13.06.287.074 I statistics        draft-mtp: #calls(b,g,a) =    1     71     71, #gen drafts =     71, #acc drafts =    47, #gen tokens =    284, #acc tokens =   132, #mean acc len = 2.86, #acc rate/pos = (0.662, 0.507, 0.394, 0.296)\n[41907] 13.06.287.133 I srv  update_slots: all slots are idle\n",
     {"drafter": "mtp"}, []),
    ("values of a thread, prefixes removed", "llama.cpp",
     """print_info: file type   = Q4_K - Medium
CUDA0 model buffer size = 16500.25 MiB
CUDA1 model buffer size = 2000.75 MiB
CUDA0 KV buffer size = 640.00 MiB
CUDA0 compute buffer size = 505.00 MiB
CUDA_Host compute buffer size = 30.01 MiB
n_ctx_train = 262144
""", {"weights_mib": 18501.0, "kv_buffer_mib": 640.0, "compute_buffer_mib": 505.0,
      "cpu_compute_buffer_mib": 30.01, "training_context": 262144,
      "weights_encoding": "Q4_K - Medium"}, []),
    ("a sliding model with both caches", "llama.cpp",
     """llama_kv_cache_iswa: creating non-SWA KV cache, size = 32768 cells
llama_kv_cache:      CUDA0 KV buffer size =  1280.00 MiB
llama_kv_cache: size = 1280.00 MiB ( 32768 cells,  10 layers,  1/1 seqs), K (f16):  640.00 MiB, V (f16):  640.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 1536 cells
llama_kv_cache:      CUDA0 KV buffer size =   300.00 MiB
llama_kv_cache: size =  300.00 MiB (  1536 cells,  50 layers,  1/1 seqs), K (f16):  150.00 MiB, V (f16):  150.00 MiB
llama_context:      CUDA0 compute buffer size =   404.00 MiB
""", {"full_cells": 32768, "full_mib": 1280.0, "full_layers": 10, "swa_cells": 1536,
      "swa_mib": 300.0, "swa_layers": 50, "kv_mib": 1580.0, "compute_buffer_mib": 404.0}, []),
    ("https://github.com/ikawrakow/ik_llama.cpp/pull/259", "llama.cpp",
     """llama_kv_cache_init:      CUDA0 KV buffer size =  1166.65 MiB
llama_new_context_with_model: KV self size  = 1166.62 MiB, c^KV (q8_0): 1166.62 MiB, kv^T: not used
llama_new_context_with_model:      CUDA0 compute buffer size =  8470.00 MiB
INFO [                    init] new slot | tid="137362671300608" timestamp=1742136993 id_slot=0 n_ctx_slot=32768
""", {"kv_mib": 1166.62, "k_type": "q8_0", "compute_buffer_mib": 8470.0,
      "slot_context": 32768}, []),
    (L + "pull/5104", "llama.cpp",
     """llama_new_context_with_model: n_ctx      = 512
llama_kv_cache_init:      CUDA0 KV buffer size =   160.00 MiB
llama_new_context_with_model: KV self size  =  160.00 MiB, K (f16):   80.00 MiB, V (f16):   80.00 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =   108.25 MiB
all slots are idle and system prompt is empty, clear the KV cache
print_timings: prompt eval time =     232.47 ms /   492 tokens (    0.47 ms per token,  2116.38 tokens per second)
""", {"n_ctx": 512, "kv_mib": 160.0, "compute_buffer_mib": 108.25,
      "~prompt_tokens_per_s": 2116.38}, []),
    ("https://github.com/ikawrakow/ik_llama.cpp/issues/1363", "llama.cpp",
     """llm_load_tensors:        CPU buffer size =   397.85 MiB
llm_load_tensors:      CUDA0 buffer size = 12061.14 MiB
llm_load_tensors:      CUDA1 buffer size = 11307.07 MiB
llama_init_from_model: n_ctx         = 360192
llama_kv_cache_init:      CUDA0 KV buffer size =  3651.50 MiB
llama_kv_cache_init:      CUDA1 KV buffer size =  3634.75 MiB
llama_init_from_model: KV self size  = 7035.00 MiB, K (f16): 3517.50 MiB, V (f16): 3517.50 MiB
""", {"weights_mib": 23368.21, "cpu_weights_mib": 397.85, "kv_buffer_mib": 7286.25,
      "kv_mib": 7035.0, "n_ctx": 360192}, []),
    ("a partial offload", "llama.cpp",
     "load_tensors: offloaded 45/65 layers to GPU\n",
     {"offloaded_layers": 45, "model_layers": 65}, ["partial_cpu_offload"]),
    # Ollama
    ("a log of 2025-07-30", "ollama",
     OFFLOAD.format(time="2025-07-30T10:53:50.069+10:00", source="server.go:175",
                    msg="offload library=cuda", model=29, offload=29, free="3.1 GiB",
                    full="1.9 GiB", partial="1.9 GiB", kv="224.0 MiB", weights="934.7 MiB"),
     {"model_layers": 29, "offloaded_layers": 29, "pool_gib": 0.21875,
      "weights_gib": 934.7 / 1024, "required_full_gib": 1.9}, []),
    ("a log of 2025-09-11 under systemd", "ollama",
     "Sep 11 00:42:49 ai ollama[3110]: "
     + OFFLOAD.format(time="2025-09-11T00:42:49.545+02:00", source="server.go:543",
                      msg="offload library=rocm", model=37, offload=37, free="63.8 GiB",
                      full="62.4 GiB", partial="62.4 GiB", kv="450.0 MiB", weights="59.7 GiB"),
     {"model_layers": 37, "weights_gib": 59.7}, []),
    ("a log of 2024-08-14 on a Mac", "ollama",
     OFFLOAD.format(time="2024-08-14T16:27:00.222+08:00", source="memory.go:309",
                    msg='"offload to metal"', model=29, offload=29, free="21.3 GiB",
                    full="5.4 GiB", partial="5.4 GiB", kv="448.0 MiB", weights="3.9 GiB"),
     {"weights_gib": 3.9, "offloaded_layers": 29}, []),
    ("a log of 2024-08-28 without a GPU", "ollama",
     ">>> " + OFFLOAD.format(time="2024-08-28T18:43:24.392Z", source="memory.go:309",
                             msg='"offload to cpu"', model=33, offload=0, free="7.3 GiB",
                             full="5.5 GiB", partial="0 B", kv="1.0 GiB", weights="4.7 GiB"),
     {"offloaded_layers": 0, "offloaded_share": 0.0}, ["partial_cpu_offload"]),
    ("a log of 2025-07-16 under docker compose", "ollama",
     '2025-07-16 04:09:14 hub-ollama-1   | time=2025-07-16T08:09:14.044Z level=INFO source=types.go:130 msg="inference compute" id=0 library=cpu variant="" compute="" driver=0.0 name="" total="7.7 GiB" available="7.0 GiB"\n',
     {"library": "cpu"}, []),
    (O + "issues/9181", "ollama",
     OFFLOAD.format(time="2025-02-18T02:21:25.646Z", source="server.go:130",
                    msg="offload library=cuda", model=81, offload=44, free="22.0 GiB 22.0 GiB",
                    full="127.4 GiB", partial="87.1 GiB", kv="19.5 GiB", weights="87.3 GiB")
     + '\ntime=2025-02-18T02:21:25.646Z level=WARN source=server.go:190 msg="kv cache type not supported by model" type=""'
     + '\ntime=2025-02-18T02:21:25.647Z level=INFO source=server.go:380 msg="starting llama server" cmd="/x/ollama runner --model /y --ctx-size 64000 --batch-size 512 --n-gpu-layers 44 --threads 24 --flash-attn --parallel 1 --port 50137"\n',
     {"offloaded_layers": 44, "model_layers": 81, "n_ctx": 64000, "n_parallel": 1,
      "gpu_layers": 44, "pool_gib": 19.5}, ["partial_cpu_offload", "cache_type_refused"]),
    (O + "issues/10368", "ollama",
     """time=2025-04-22T11:21:46.411Z level=INFO source=server.go:619 msg="llama runner started in 0.25 seconds"
[GIN] 2025/04/22 - 11:21:46 | 200 |  444.455595ms |    10.130.41.81 | POST     "/api/embeddings"
time=2025-04-22T11:21:47.546Z level=WARN source=runner.go:131 msg="truncating input prompt" limit=2048 prompt=5065 keep=5 new=2048
""", {"prompt_limit": 2048, "prompt_given": 5065, "prompt_kept": 2048}, ["prompt_truncated"]),
    (O + "issues/12027", "ollama",
     """time=2025-08-24T08:17:39.150Z level=INFO source=runner.go:925 msg=load request="{Operation:commit LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:true KvSize:9200 KvCacheType:q4_0 NumThreads:32 GPULayers:49[ID:GPU-6 Layers:49(0..48)] MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}"
time=2025-08-24T08:17:39.150Z level=INFO source=ggml.go:497 msg="offloaded 49/49 layers to GPU"
""", {"n_ctx": 9200, "k_type": "q4_0", "offloaded_layers": 49, "flash_attention": True}, []),
    ("a log of 0.33 on a laptop", "ollama",
     'time=2026-08-22T10:00:00Z level=INFO source=types.go:42 msg="inference compute" id=GPU-1 library=CUDA compute=8.9 name=CUDA0 description="NVIDIA GeForce RTX 4070 Laptop GPU" total="8.0 GiB" available="7.1 GiB"\n'
     'time=2026-08-22T10:00:00Z level=INFO source=routes.go:1 msg="vram-based default context" total_vram="8.0 GiB" default_num_ctx=4096\n',
     {"library": "CUDA", "compute_capability": "8.9", "default_context": 4096,
      "device_name": "NVIDIA GeForce RTX 4070 Laptop GPU", "gpu_memory_gib": 8.0}, []),
    (O + "issues/18123", "ollama",
     'time=2026-08-29T08:45:23.466Z level=INFO source=llama_server.go:431 msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model /m --port 36183 --no-webui --offline -c 131072 -np 1 --log-verbosity 4 --flash-attn auto -b 512 -ub 512 --context-shift --keep 4"\n',
     {"n_ctx": 131072, "n_parallel": 1, "model": "/m"}, []),
    (O + "issues/17829", "ollama",
     'time=2026-08-19T19:37:11.287+02:00 level=INFO source=prefix_cache.go:124 msg="cache miss" total=24809 matched=0 cached=0 left=24809\n[GIN] 2026/08/19 - 19:39:44 | 200 | 2m | 127.0.0.1 | POST "/api/chat"\n',
     {"~cached_prompt_tokens": 0, "~new_prompt_tokens": 24809, "prefix_cache_hit_share": 0.0}, []),
    (O + "issues/5240", "ollama",
     'Haz 27 19:00:53 TR ollama[7527]: time=2024-06-27T19:00:53.710+03:00 level=INFO source=routes.go:1106 msg="Listening on 127.0.0.1:11434 (version 0.1.45)"\n',
     {"engine_version": "0.1.45"}, []),
    # TensorRT-LLM
    (T + "issues/2268", "tensorrt-llm",
     """[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 39.39 GiB, available: 21.89 GiB
[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 631
""", {"gpu_memory_gib": 39.39, "available_gib": 21.89, "num_gpu_blocks": 631}, []),
    (T + "issues/1400", "tensorrt-llm",
     """[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache.
[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.
""", {"pool_bytes": 69524783104, "pool_tokens": 132608}, []),
    ("a PyTorch backend log of January 2026", "tensorrt-llm",
     """[01/16/2026-06:20:15] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 91.46 GiB, available KV cache memory when calculating max tokens: 41.11 GiB, fraction is set 0.85, kv size is 35136. device total memory 139.81 GiB
[MemUsageChange] Allocated 41.11 GiB for max tokens (524288)
""", {"peak_gib": 91.46, "memory_for_cache_gib": 41.11, "free_memory_fraction": 0.85,
      "bytes_per_token": 35136, "gpu_memory_gib": 139.81, "pool_tokens": 524288,
      "pool_gib": 41.11}, []),
    ("https://github.com/triton-inference-server/tensorrtllm_backend/issues/361", "tensorrt-llm",
     """[TensorRT-LLM][INFO] Allocate 14575206400 bytes for k/v cache.
[TensorRT-LLM][INFO] Using 35584 total tokens in paged KV cache, and 32 blocks per sequence
""", {"pool_bytes": 14575206400, "pool_tokens": 35584}, []),
    (T + "issues/2449", "tensorrt-llm",
     """[TensorRT-LLM] TensorRT-LLM version: 0.15.0.dev2024101500
[TensorRT-LLM] TensorRT-LLM version: 0.15.0.dev2024101500
[TensorRT-LLM][INFO] Engine version 0.15.0.dev2024101500 found in the config file, assuming engine(s) built by new builder API.
[TensorRT-LLM][INFO] Loaded engine size: 8231 MiB
[TensorRT-LLM][INFO] Loaded engine size: 8231 MiB
""", {"engine_version": "0.15.0.dev2024101500", "weights_gib": 8231 / 1024}, []),
    # MLX
    ("https://github.com/arozanov/turboquant-mlx/issues/11", "mlx-lm",
     """2026-04-18 21:37:42,897 - INFO - Starting httpd at 127.0.0.1 on port 1234...
2026-04-18 21:39:04,339 - INFO - KV Caches: 0 seq, 0.00 GB, latest user cache 0 tokens
""", {"started": True, "~cached_sequences": 0, "~prompt_cache_gb": 0.0}, []),
    ("the print of mlx_lm.generate", "mlx-lm",
     """Prompt: 12 tokens, 61.432 tokens-per-sec
Generation: 100 tokens, 45.210 tokens-per-sec
Peak memory: 4.312 GB
mlx_lm done
""", {"~prompt_tokens_per_s": 61.432, "~generation_tokens_per_s": 45.21, "~peak_gb": 4.312}, []),
    # kinds of lines, each alone
    ("settings of a draft model do not stand for the target's", "vllm",
     """Initializing a V1 LLM engine (v0.22.0) with config: model='target', speculative_config=SpeculativeConfig(method='dflash', model='drafter', num_spec_tokens=6), max_seq_len=4096
""", {"model": "target", "num_speculative_tokens": 6}, []),
    ("the memory of LFM2.5-1.2B on 16 GiB after the start of vLLM 0.26.0", "vllm",
     """Free memory on device (15.89/16.0 GiB) on startup. Desired GPU memory utilization is (0.95, 15.2 GiB). Actual usage is 0.88 GiB for weight, 0.26 GiB for peak activation, -0.16 GiB for non-torch memory, and 0.24 GiB for CUDAGraph memory. Replace [...] memory. Current kv cache memory in use is 13.33 GiB.
""", {"weights_gib": 0.88, "activation_peak_gib": 0.26, "non_torch_gib": -0.16,
      "memory_for_cache_gib": 13.33}, []),
    ("a pool with sliding layers", "sglang",
     "SWAKVPool mem usage: 79.94 GB, swa size: 798276, full size: 997846\n",
     {"pool_tokens": 997846}, []),
    ("states kept for drafted tokens, more than all others", "sglang",
     """[2026-10-02 00:39:40] Mamba Cache is allocated. max_mamba_cache_size: 64, conv_state size: 0.07GB, ssm_state size: 3.05GB intermediate_ssm_state_cache size: 48.75GB intermediate_conv_window_cache size: 0.43GB
[2026-10-02 00:39:41] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 295950, K size: 4.52 GB, V size: 4.52 GB
""", {"max_mamba_cache_size": 64, "ssm_state_gib": 3.05, "draft_states_gib": 48.75,
      "draft_conv_gib": 0.43, "pool_gib": 9.04}, []),
    (L + "pull/26499", "llama.cpp",
     """llama_kv_cache: size = 1745.16 MiB (168192 cells,  10 layers,  1/1 seqs), K (q8_0):  872.58 MiB, V (q8_0):  872.58 MiB
llama_memory_recurrent: size =  502.50 MiB (     1 cells,  40 layers,  1 seqs  7 rs_seq), R (f32):   22.50 MiB, S (f32):  480.00 MiB
""", {"kv_mib": 1745.16, "state_mib": 502.5, "state_seqs": 1, "state_rollbacks": 7}, []),
    ("a pool with compressed layers", "sglang",
     "DSV4 pool sizes: full=852992, swa=85248, c4=213248, c128=6664, c4_state=5328\n",
     {"pool_tokens": 852992}, []),
    ("Gemma 4 E4B: the sliding pool is printed first, the server's tokens are the full one's",
     "sglang",
     """KV Cache is allocated. dtype: torch.bfloat16, #tokens: 644444, K size: 21.51 GB, V size: 21.51 GB
KV Cache is allocated. dtype: torch.bfloat16, #tokens: 805556, K size: 10.76 GB, V size: 10.76 GB
SWAKVPool mem usage: 64.54 GB, swa size: 644444, full size: 805556
""", {"pool_tokens": 805556, "pool_gib": 64.54}, []),
    ("the log itself may tell the chip", "llama.cpp",
     """  Device 0: NVIDIA GeForce RTX 5090, compute capability 12.0, VMM: yes
load_tensors: offloaded 1/1 layers to GPU
""", {"compute_capability": "12.0"}, []),
    ("an AMD chip is no compute capability", "ollama",
     """time=x source=types.go:42 msg="inference compute" id=0 library=rocm variant="" compute=gfx1100 driver=6.3 name=1002:744c total="24.0 GiB" available="23.9 GiB"
""", {"compute_capability": "gfx1100"}, []),
    ("the lines of vLLM 0.33.0 on a CPU, v1/worker/cpu_worker.py and kv_cache_utils.py", "vllm",
     """(APIServer pid=1) INFO 11-01 10:00:00 [api_server.py:1] vLLM API server version 0.33.0
(EngineCore pid=9) INFO 11-01 10:00:10 [cpu_worker.py:240] Auto set (12.50/62.71) GiB for KV cache on node 0, with 57.69 GiB requested memory for the worker. 3.20 GiB memory was consumed by non-kv usages.
(EngineCore pid=9) INFO 11-01 10:00:11 [kv_cache_utils.py:1707] CPU KV cache size: 116,992 tokens, Maximum concurrency for 4,096 tokens per request: 28.56x
""", {"memory_for_cache_gib": 12.5, "pool_tokens": 116992, "max_concurrency": 28.56}, []),
    (V + "issues/19693", "vllm",
     """INFO 06-16 07:20:26 [api_server.py:1287] vLLM API server version 0.9.1
WARNING 06-16 07:20:32 [config.py:931] bitsandbytes quantization is not fully optimized yet. The speed can be slower than non-quantized models.
""", {"engine_version": "0.9.1"}, ["unoptimised_kernel"]),
    ("https://github.com/noonghunna/club-3090/issues/1261 (states of the target after two pools)",
     "sglang",
     """[2026-09-12 00:22:48 TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, K size: 3.46 GB, V size: 3.46 GB
[2026-09-12 00:22:48 TP0] Memory pool end. avail mem=8.40 GB
[2026-09-12 00:22:48 TP0] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, K size: 1.08 GB, V size: 1.08 GB
[2026-09-12 00:22:48 TP0] Memory pool end. avail mem=6.23 GB
[2026-09-12 00:22:49 TP0] GDN kernel dispatcher: decode=TritonGDNKernel, extend=TritonGDNKernel, verify=TritonGDNKernel packed_decode=True
""", {"pool_tokens": 454112, "k_gib": 3.46, "draft_k_gib": 1.08,
      "gdn_kernel": "TritonGDNKernel"}, []),
    (O + "issues/12283", "ollama",
     """Sep 14 13:53:12 jetson-thor ollama[3778]:   Device 0: NVIDIA Thor, compute capability 11.0, VMM: yes, ID: GPU-a7c66ad2-6dbb-0ab8-c1a2-37ba6dba3600
Sep 14 13:53:12 jetson-thor ollama[3778]: time=2025-09-14T13:53:12.303+02:00 level=INFO source=runner.go:1173 msg=load request="{Operation:alloc LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:true KvSize:12472 KvCacheType: NumThreads:14 GPULayers:37[ID:GPU-a7c66ad2-6dbb-0ab8-c1a2-37ba6dba3600 Layers:37(0..36)] MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}"
""", {"device_name": "NVIDIA Thor", "n_ctx": 12472, "offloaded_layers": 37, "k_type": None}, []),
]  # fmt: skip
