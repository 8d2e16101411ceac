"""`torch.nn.functional.layer_norm`, and no kernel."""
# expect: no_kernel

import torch


def layernorm(x, weight, bias, eps):
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, eps)
