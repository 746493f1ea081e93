"""The cases of bench/sweep.py, as data: groups of expressions, each over every list of inputs of its group.

An expression is written once for both libraries: t is torch or polygrad.torch, F its functional module, g the geometric package (utils, aggr, nn), and
a, b, c, d are the inputs. An input is "kind:shape", with "<bound" for whole numbers and a layout behind a point:

  f d h w   float32, float64, float16, bfloat16, normally distributed    p   float32 between 0.1 and 0.9
  i n u     int64, int32, uint8 below the bound                          s   int64 below the bound, sorted
  b         truth values

  .t  the last two axes exchanged (the shape is of what is stored)       .s  every other element of the last axis
  .o  without the first element of each axis                             .e  the first axis of size 1 expanded to 64

Where a group has gradients, the second list says for which inputs the backward pass is measured too. Random functions are measured, not compared.
"""

SMALL, MID, WIDE, LARGE, ODD = "f:100x100", "f:1000x1000", "f:100x10000", "f:3000x3000", "f:997x1009"
LAYOUTS = [["f:1000x1000.t"], ["f:1000x2000.s"], ["f:1001x1001.o"], ["f:1x16000.e"]]
PAIRS = [
    ["f:1000x1000", "f:1000x1000"], ["f:1000x1000", "f:1000"], ["f:1000x1000", "f:1000x1"], ["f:1000x1000", "f:1000x1000.t"],
    ["f:997x1009", "f:1009"], ["f:100x100", "f:100x100"], ["f:64x32x512", "f:32x1"],
]  # fmt: skip
NODES, EDGES = 169_343, 2_315_598
ROWS, IN, SORTED = f"f:{EDGES}x8", f"i:{EDGES}<{NODES}", f"s:{EDGES}<{NODES}"

# group: (expressions, lists of inputs, lists of inputs with gradients)
GROUPS = {
    "elementwise": (
        ["a.exp()", "a.tanh()", "a.sigmoid()", "a.relu()", "a.abs()", "a.neg()", "a.square()", "a * 2 + 1", "F.gelu(a)", "F.silu(a)", "F.elu(a)",
         "F.leaky_relu(a, .1)", "F.softplus(a)", "F.hardswish(a)", "F.mish(a)", "a.sin()", "a.cos()", "a.erf()", "a.floor()", "a.round()", "a.sign()",
         "a.clamp(-1, 1)", "a.isnan()", "a > 0", "a.atan()", "a.expm1()", "a.trunc()", "a.clone()", "a ** 3", "a.sinh()", "a.nan_to_num()"],
        [[MID]], [[MID]],
    ),
    "elementwise layouts": (
        ["a.exp()", "a.relu()", "a + 1", "a.clone()"], [[SMALL], [LARGE], [ODD], *LAYOUTS], [["f:1000x1000.t"], ["f:1000x2000.s"]],
    ),
    "positive": (
        ["a.log()", "a.sqrt()", "a.rsqrt()", "a.reciprocal()", "a ** .5", "a ** 1.7", "a.log1p()", "a.asin()", "a.acos()", "a.lgamma()", "a.digamma()",
         "a.logit()", "a.erfinv()", "a.log2()", "a.tan()"], [["p:1000x1000"]], [["p:1000x1000"]],
    ),
    "binary": (
        ["a + b", "a * b", "a / b", "t.maximum(a, b)", "a > b", "t.atan2(a, b)", "a - b * 2"], PAIRS,
        [["f:1000x1000", "f:1000"], ["f:1000x1000", "f:1000x1"]],
    ),
    "whole numbers": (
        ["a + b", "a * b", "a // 7", "a % 7", "a == b", "a & b", "a << 2", "a.sum()", "a.sum(0)", "a.sum(1)", "a.max()", "a.max(1)", "a.argmax(1)",
         "a.cumsum(1)", "a.sort(1)", "a.float()", "a.bool()", "a.any(1)", "(a > 3).sum(1)", "a.prod(1)", "a.min(0)"],
        [["i:1000x1000<100", "i:1000x1000<100"], ["n:1000x1000<100", "n:1000x1000<100"], ["u:1000x1000<100", "u:1000x1000<100"]], [],
    ),
    "truth values": (
        ["a & b", "~a", "a.sum()", "a.sum(0)", "a.sum(1)", "a.any(0)", "a.all(1)", "a.any()", "a.float()", "a.nonzero()", "a.cumsum(1)", "a ^ b", "a.long()"],
        [["b:1000x1000", "b:1000x1000"]], [],
    ),
    "other floats": (
        ["a + b", "a.exp()", "a * 2", "a.sum(1)", "a.sum(0)", "a.softmax(1)", "a.max(1)", "a.cumsum(1)", "a.sort(1)", "a.float()", "a.mean()", "a.var(1)",
         "F.layer_norm(a, (1000,))", "a.topk(10)", "a.argmax(1)"],
        [["h:1000x1000", "h:1000x1000"], ["w:1000x1000", "w:1000x1000"], ["d:1000x1000", "d:1000x1000"]], [["d:1000x1000", "d:1000x1000"]],
    ),
    "conversions": (
        ["a.half()", "a.bfloat16()", "a.double()", "a.int()", "a.long()", "a.bool()", "a.to(t.uint8)", "a.to(t.int8)"], [[MID], ["p:3000x3000"]], [],
    ),
    "reductions": (
        ["a.sum()", "a.sum(0)", "a.sum(1)", "a.mean()", "a.mean(0)", "a.max()", "a.max(0)", "a.max(1)", "a.amax(0)", "a.amin(1)", "a.argmax(0)",
         "a.argmax(1)", "a.argmin()", "a.var()", "a.std(0)", "a.var(1)", "a.norm()", "a.norm(dim=1)", "a.norm(p=1, dim=0)", "a.norm(p=3, dim=1)",
         "a.prod(1)", "a.logsumexp(1)", "a.logsumexp(0)", "a.softmax(1)", "a.softmax(0)", "a.log_softmax(1)", "t.std_mean(a)", "t.var_mean(a, 0)",
         "t.aminmax(a)", "a.count_nonzero(1)", "F.normalize(a, dim=1)", "F.normalize(a, dim=0)", "a.norm(p=float('inf'), dim=1)"],
        [[MID], [WIDE], ["f:100000x10"], ["f:10x100000"], [SMALL], [ODD], ["f:1000x1000.t"]], [[MID], ["f:100000x10"]],
    ),
    "several axes": (
        ["a.sum((0, 2))", "a.sum((1, 2))", "a.sum(1)", "a.mean((0, 1))", "a.var((0, 2))", "a.amax((0, 2))", "a.softmax(1)", "a.logsumexp((0, 1))",
         "a.norm(dim=(1, 2))", "a.permute(2, 0, 1).sum(1)", "a.permute(2, 0, 1).clone()", "a.sum((0, 2, 1))", "a.argmax(1)", "a.cumsum(1)", "a.std((1, 2))"],
        [["f:64x128x128"], ["f:1000x10x100"], ["f:8x100000x2"]], [["f:64x128x128"]],
    ),
    "cumulative": (
        ["a.cumsum(0)", "a.cumsum(1)", "a.cumprod(1)", "a.cummax(1)", "a.cummin(0)", "a.logcumsumexp(1)", "a.diff(dim=1)", "a.diff(dim=0)"],
        [[MID], ["f:100000x10"], ["f:10x100000"], [SMALL]], [[MID]],
    ),
    "long vectors": (
        ["a.sort()", "a.argsort()", "a.topk(10)", "a.topk(5000)", "a.cumsum(0)", "a.median()", "a.kthvalue(1000)", "a.sum()", "a.max()", "a.argmax()",
         "a.std()", "a.norm()", "a.softmax(0)", "a.quantile(.3)", "t.histc(a, 100, -3, 3)", "a.flip(0)", "a.roll(7)", "a[a > 0]", "(a > 1).nonzero()",
         "a.unique()", "a.log_softmax(0)", "a.logsumexp(0)", "t.cat([a, a])", "a[::2].clone()", "a.mode()", "a.cummax(0)", "a.msort()", "a.nanmedian()",
         "a.bucketize(t.linspace(-3, 3, 100))"],
        [["f:10000"], ["f:1000000"]], [],
    ),
    "order": (
        ["a.sort(1)", "a.sort(0)", "a.argsort(1)", "a.topk(10, 1)", "a.topk(10, 0)", "a.topk(3, 1, largest=False)", "a.median(1)", "a.median(0)",
         "a.kthvalue(5, 1)", "a.mode(1)", "a.quantile(.5, dim=1)", "a.sort(1, descending=True)", "a.nanmedian(1)", "a.argsort(0)"],
        [[MID], ["f:100000x10"], [SMALL], ["f:64x1000"]], [],
    ),
    "order gradients": (["a.sort(1)[0]", "a.topk(10, 1)[0]", "a.median(1)[0]", "a.max(1)[0]", "a.kthvalue(5, 1)[0]"], [], [[MID]]),
    "counting": (
        ["a.unique()", "a.unique(return_inverse=True)", "a.unique(return_counts=True)", "a.bincount()", "a.bincount(minlength=5000)", "a.unique_consecutive()",
         "a.sort()", "a.argsort()", "t.searchsorted(t.arange(0, 1000, 3), a)", "a.mode()", "a.median()", "F.one_hot(a % 50, 50)", "t.isin(a, t.arange(50))",
         "(a == 3).nonzero()", "a.unique_consecutive(return_counts=True)", "a.unique_consecutive(return_inverse=True)"],
        [["i:10000<1000"], ["i:1000000<1000"], ["s:1000000<1000"], ["s:1000000<500000"], ["i:1000000<500000"]], [],
    ),
    "searching": (["t.searchsorted(a.sort()[0], b)", "t.bucketize(b, a.sort()[0])"], [["f:1000", "f:1000000"], ["f:100000", "f:1000000"]], []),
    "gather": (
        ["a[b]", "a.index_select(0, b)", "t.zeros_like(a).index_add(0, b, a[:b.shape[0]])", "a.index_copy(0, b, a[:b.shape[0]])", "a.index_fill(0, b, 2.)",
         "F.embedding(b, a)", "a[b, 3]", "a[b, :5]", "a[:, b % 8]"],
        [["f:100000x64", "i:100000<100000"], ["f:100000x8", "i:50000<100000"], ["f:1000x64", "i:1000<1000"]],
        [["f:100000x64", "i:100000<100000"], ["f:1000x64", "i:1000<1000"]],
    ),
    "gather along axes": (
        ["a.gather(1, b)", "a.gather(0, b)", "a.scatter(1, b, a)", "a.scatter_add(1, b, a)", "a.scatter_add(0, b, a)", "a.scatter(0, b, 1.)",
         "a.take_along_dim(b, 1)", "a.scatter_reduce(0, b, a, 'amax')", "a.scatter_reduce(1, b, a, 'mean')", "a.take(b)"],
        [["f:1000x1000", "i:1000x1000<1000"], ["f:100x100", "i:100x100<100"]], [["f:1000x1000", "i:1000x1000<1000"]],
    ),
    "masks": (
        ["t.where(b, a, 0.)", "a.masked_fill(b, 0.)", "a[b]", "a.masked_select(b)", "a * b", "a.masked_scatter(b, a)", "b.nonzero()", "t.where(b)[0]",
         "t.where(b, a, a * 2)"],
        [["f:1000x1000", "b:1000x1000"], ["f:100x100", "b:100x100"]], [["f:1000x1000", "b:1000x1000"]],
    ),
    "rows by mask": (["a[b]", "a[~b].sum(0)", "a[b.nonzero()[:, 0]]"], [["f:100000x16", "b:100000"]], [["f:100000x16", "b:100000"]]),
    "movement": (
        ["t.cat([a, a], 0)", "t.cat([a, a], 1)", "t.stack([a, a], 1)", "t.stack([a, a, a], -1)", "t.cat([c.exp() for c in a.split(250, 1)], 1)",
         "F.pad(a, (1, 1, 2, 2))", "F.pad(a[None], (1, 1, 2, 2), mode='reflect')", "F.pad(a[None], (3, 3), mode='circular')", "a.roll(3, 1)", "a.roll(3, 0)",
         "a.roll((1, 2), (0, 1))", "a.flip(0)", "a.flip(1)", "a.tril()", "a.triu(1)", "a.repeat(2, 2)", "a.repeat_interleave(3, 0)", "a.repeat_interleave(2, 1)",
         "a.t().contiguous()", "a.t().clone() + a", "a.reshape(-1, 50).sum(1)", "a.reshape(100, 10, -1).transpose(0, 1).clone()", "a.diagonal().clone()",
         "a.expand(3, -1, -1).clone()", "a[::2, 1::3].clone()", "a.unfold(1, 10, 5).sum(-1)", "t.meshgrid(a[0], a[1], indexing='ij')", "t.kron(a[:30, :30], a[:30, :30])",
         "t.diag(a[0])", "a.view(-1)[5:-5].clone()", "t.tril_indices(1000, 1000)", "t.cdist(a[:, :16], a[:, :16])", "a.chunk(4, 0)[2] * 2", "a.rot90()", "t.trace(a)",
         "t.outer(a[0], a[1])", "a.unsqueeze(1).repeat(1, 3, 1)", "t.cartesian_prod(a[0], a[1])", "t.combinations(a[0])", "a.swapaxes(0, 1).sum(0)", "t.block_diag(a, a)"],
        [[MID], ["f:1000x1000.t"]], [[MID]],
    ),
    "repeats": (["t.repeat_interleave(a, b, dim=0)", "t.repeat_interleave(b)"], [["f:100000x8", "i:100000<10"]], []),
    "embedding": (
        ["F.embedding(a, b)", "F.embedding(a, b).sum(1)", "F.embedding_bag(a, b, mode='sum')", "F.embedding_bag(a, b)", "F.one_hot(a, 1000)"],
        [["i:1000x20<1000", "f:1000x64"]], [],
    ),
    "embedding gradients": (["F.embedding(b, a)", "F.embedding(b, a).sum(1)"], [], [["f:1000x64", "i:1000x20<1000"], ["f:30000x64", "i:64x128<30000"]]),
    "norms": (
        ["F.layer_norm(a, (64,))", "F.layer_norm(a, (64,), b, b)", "F.batch_norm(a.view(-1, 64), None, None, training=True)", "F.rms_norm(a, (64,))",
         "F.group_norm(a.transpose(1, 2), 8)", "F.instance_norm(a.transpose(1, 2))", "F.batch_norm(a.transpose(1, 2), None, None, b, b, training=True)",
         "F.normalize(a, dim=-1)", "F.softmax(a, -1)", "F.local_response_norm(a.transpose(1, 2), 5)", "a / a.norm(dim=-1, keepdim=True)",
         "(a - a.mean(0)) / a.std(0)", "F.gumbel_softmax(a * 1, dim=-1).shape and a.softmax(-1)"],
        [["f:64x300x64", "f:64"], ["f:8x10x64", "f:64"]], [["f:64x300x64", "f:64"], ["f:8x10x64", "f:64"]],
    ),
    "images": (
        ["F.max_pool2d(a, 2)", "F.avg_pool2d(a, 2)", "F.max_pool2d(a, 3, 2, 1)", "F.avg_pool2d(a, 3, 1, 1)", "F.adaptive_avg_pool2d(a, 1)", "F.adaptive_avg_pool2d(a, 7)",
         "F.adaptive_max_pool2d(a, 4)", "F.interpolate(a, scale_factor=2)", "F.interpolate(a, scale_factor=2, mode='bilinear')", "F.interpolate(a, size=(40, 40), mode='bilinear')",
         "F.interpolate(a, size=(40, 40), mode='bicubic')", "F.interpolate(a, scale_factor=.5, mode='area')", "F.group_norm(a, 8)", "F.instance_norm(a)",
         "F.batch_norm(a, None, None, training=True)", "F.pixel_shuffle(a, 2)", "F.unfold(a, 3)", "F.pad(a, (1, 1, 1, 1))", "F.pad(a, (1, 1, 1, 1), mode='reflect')",
         "F.pad(a, (1, 1, 1, 1), mode='replicate')", "F.lp_pool2d(a, 2, 2)", "a.flip(3)", "a.permute(0, 2, 3, 1).contiguous()", "F.max_pool2d(a, 2, return_indices=True)",
         "F.channel_shuffle(a, 4)", "F.grid_sample(a, a[:, :2].permute(0, 2, 3, 1).tanh())", "F.softmax(a, 1)", "a.mean((2, 3))", "F.dropout2d(a, 0.)"],
        [["f:16x32x56x56"], ["f:2x16x9x11"]], [["f:16x32x56x56"]],
    ),
    "volumes and sequences": (
        ["F.max_pool3d(a, 2)", "F.avg_pool3d(a, 2)", "F.interpolate(a, scale_factor=2, mode='trilinear')", "F.max_pool1d(a.flatten(2), 4)", "F.avg_pool1d(a.flatten(2), 4)",
         "F.interpolate(a.flatten(2), scale_factor=2, mode='linear')"],
        [["f:4x8x20x24x28"]], [["f:4x8x20x24x28"]],
    ),
    "losses": (
        ["F.mse_loss(a, b)", "F.l1_loss(a, b)", "F.smooth_l1_loss(a, b)", "F.huber_loss(a, b)", "F.binary_cross_entropy_with_logits(a, b.sigmoid())",
         "F.kl_div(a.log_softmax(1), b.softmax(1))", "F.cosine_similarity(a, b)", "F.pairwise_distance(a, b)", "F.cosine_embedding_loss(a, b, t.ones(a.shape[0]))",
         "F.poisson_nll_loss(a, b.abs())", "F.gaussian_nll_loss(a, b, a.square() + 1)", "F.triplet_margin_loss(a, b, a * 2)", "F.soft_margin_loss(a, b.sign())"],
        [["f:10000x100", "f:10000x100"], ["f:64x10", "f:64x10"]], [["f:10000x100", "f:10000x100"]],
    ),
    "classes": (
        ["F.cross_entropy(a, b)", "F.nll_loss(a.log_softmax(1), b)", "F.cross_entropy(a, b, label_smoothing=.1)", "F.multi_margin_loss(a, b)",
         "(a.argmax(1) == b).float().mean()", "F.cross_entropy(a, b, reduction='none')"],
        [["f:10000x100", "i:10000<100"], ["f:256x30000", "i:256<30000"], ["f:64x10", "i:64<10"]], [["f:10000x100", "i:10000<100"], ["f:256x30000", "i:256<30000"]],
    ),
    "distances and odd products": (
        ["t.cdist(a, b)", "t.cdist(a, b, p=1)", "((a[:, None] - b[None]) ** 2).sum(-1)", "(a[:, None] - b[None]).abs().amax(-1)", "t.einsum('ik,jk->ij', a.abs(), b)",
         "t.einsum('ik,ik->i', a, a)", "t.einsum('ij->ji', a)", "t.einsum('ik,jk->k', a, b)", "F.cosine_similarity(a[:, None], b[None], dim=-1)", "(a[:, None] * b[None]).sum(-1)",
         "F.pdist(a[:500])", "t.cov(a.t())", "t.corrcoef(a.t())", "t.cross(a[:, :3], a[:, 1:4], dim=1)", "t.linalg.vector_norm(a, 3, 1)", "t.einsum('ii->i', a[:16, :16])"],
        [["f:1000x16", "f:800x16"], ["f:300x64", "f:200x64"]], [["f:1000x16", "f:800x16"]],
    ),
    "statistics": (
        ["a.quantile(t.tensor([.1, .5, .9]), dim=1)", "t.histc(a, 50)", "t.std_mean(a, 1)", "a.var(0)", "a.nanmean(0)", "a.nansum(1)", "t.nanquantile(a, .5, 1)", "a.median(1)",
         "t.histogram(a.flatten(), 50)", "t.bincount((a.flatten().abs() * 10).long())"],
        [[MID], ["f:100000x10"]], [],
    ),
    "random": (
        ["t.rand(1000, 1000)", "t.randn(1000, 1000)", "t.randint(0, 100, (1000, 1000))", "t.randperm(1000000)", "t.bernoulli(a.sigmoid())", "F.dropout(a, .5)", "t.rand_like(a)",
         "t.multinomial(a.abs(), 5)", "t.multinomial(a.abs(), 500)", "a.clone().exponential_()", "t.normal(a, 1.)", "t.rand(10, 10)", "t.randperm(1000)", "F.gumbel_softmax(a)", "t.poisson(a.abs())"],
        [[MID]], [],
    ),
    "creation": (
        ["t.zeros(1000, 1000)", "t.ones(1000, 1000)", "t.full((1000, 1000), 3.)", "t.arange(1000000)", "t.linspace(0, 1, 1000000)", "t.eye(1000)", "t.zeros_like(a)", "t.logspace(0, 1, 100000)",
         "t.arange(1000000).float() / 7", "t.triu_indices(500, 500)", "t.hann_window(10000)"], [[MID]], [],
    ),
    "fused": (
        ["((a - a.mean(1, keepdim=True)) ** 2).mean(1).sqrt()", "a.exp() / a.exp().sum(0)", "(a * 2 + 1).relu().sum()", "(a.t() @ a.t()[:, :1]).squeeze()", "(a.sigmoid() * a.tanh()).sum(1)",
         "a.sort(1)[0].diff(dim=1).abs().sum()", "a.softmax(1).log().mean()", "(a > 0).float().mean(0)", "a.cumsum(1)[:, -1]", "(a + a.t()).sum(0)", "t.where(a > 0, a, a.exp() - 1).norm()",
         "(a.sum(0)[None] + a.sum(1)[:, None]).relu()", "a.reshape(-1, 4).max(1)[0].sum()", "a.abs().max(1, keepdim=True)[0] * a", "a[:, 1:] - a[:, :-1]", "a.view(250, 4, 250, 4).mean((1, 3))"],
        [[MID], ["f:1000x1000.t"], [SMALL]] , [[MID]],
    ),
    "tiny": (
        ["a + 1", "a.exp()", "a.sum()", "a.sum(1)", "a.softmax(1)", "a.sort(1)", "a.topk(2)", "a @ a", "a[2]", "a[a > 0]", "a.cumsum(1)", "t.cat([a, a])", "a.max(1)", "F.layer_norm(a, (8,))",
         "a.unique()", "a.argmax(1)", "F.pad(a, (1, 1))", "a.t().clone()", "a.nonzero()", "F.mse_loss(a, a * 2)", "((a + 1).relu() * 2 - a).tanh().sum()", "a.median()", "a.bool().any()"],
        [["f:8x8"]], [["f:8x8"]],
    ),
    "scatter": (
        ["g.utils.scatter(a, b, 0, 169343, 'sum')", "g.utils.scatter(a, b, 0, 169343, 'mean')", "g.utils.scatter(a, b, 0, 169343, 'max')", "g.utils.scatter(a, b, 0, 169343, 'min')",
         "g.utils.scatter(a, b, 0, 169343, 'mul')", "g.utils.softmax(a, b, num_nodes=169343)", "g.utils.degree(b, 169343)", "t.zeros(169343, 8).index_add(0, b, a)",
         "t.zeros(169343, 8).scatter_add(0, b[:, None].expand(-1, 8), a)", "t.zeros(169343, 8).index_reduce(0, b, a, 'amax')"],
        [[ROWS, IN], [ROWS, SORTED], ["f:1000x16", "i:1000<100"]], [[ROWS, IN], [ROWS, SORTED]],
    ),
    "scatter narrow": (
        ["g.utils.scatter(a, b, 0, 169343, 'sum')", "g.utils.scatter(a, b, 0, 169343, 'max')", "g.utils.softmax(a, b, num_nodes=169343)", "t.zeros(169343).index_add(0, b, a)"],
        [[f"f:{EDGES}", IN], [f"f:{EDGES}", SORTED]], [[f"f:{EDGES}", IN]],
    ),
    "segment": (
        ["g.utils.segment(a, t.searchsorted(b, t.arange(10001)), 'sum')", "g.utils.segment(a, t.searchsorted(b, t.arange(10001)), 'max')",
         "g.nn.aggr.SumAggregation()(a, b)", "g.nn.aggr.MeanAggregation()(a, b)", "g.nn.aggr.MaxAggregation()(a, b)", "g.nn.aggr.MulAggregation()(a, b)", "g.nn.aggr.VarAggregation()(a, b)",
         "g.nn.aggr.StdAggregation()(a, b)", "g.nn.aggr.SoftmaxAggregation()(a, b)", "g.nn.aggr.PowerMeanAggregation()(a.abs() + .1, b)", "g.nn.aggr.MedianAggregation()(a, b)",
         "g.nn.aggr.QuantileAggregation([.2, .7])(a, b)", "g.nn.aggr.SortAggregation(4)(a, b)", "g.nn.aggr.MultiAggregation(['sum', 'std', 'max'])(a, b)",
         "g.nn.global_add_pool(a, b)", "g.nn.global_mean_pool(a, b)", "g.nn.global_max_pool(a, b)", "g.utils.to_dense_batch(a, b)", "g.utils.cumsum(b)",
         "g.nn.norm.GraphNorm(16)(a, b)", "g.nn.norm.InstanceNorm(16)(a, b)", "g.nn.norm.LayerNorm(16)(a, b)", "g.nn.norm.PairNorm()(a, b)", "g.nn.norm.GraphSizeNorm()(a, b)",
         "g.nn.norm.DiffGroupNorm(16, 4)(a)", "g.nn.norm.MeanSubtractionNorm()(a, b)", "g.nn.aggr.DegreeScalerAggregation('sum', ['identity', 'linear'], t.ones(20).long())(a, b)"],
        [["f:200000x16", "s:200000<10000"], ["f:1000x16", "s:1000<40"]], [["f:200000x16", "s:200000<10000"], ["f:1000x16", "s:1000<40"]],
    ),
    "pooling of graphs": (
        ["g.nn.pool.select.topk(a[:, 0].contiguous(), .5, b)", "g.nn.avg_pool_x(b, a, b // 2)", "g.nn.max_pool_x(b, a, b // 2)", "g.utils.unbatch(a, b)", "g.utils.select(a, b % 2 == 0, 0)",
         "g.utils.group_argsort(a[:, 0].contiguous(), b)", "g.utils.group_cat([a, a], [b, b])", "g.utils.index_sort(b, 10000)", "g.utils.one_hot(b % 50, 50)"],
        [["f:200000x16", "s:200000<10000"], ["f:1000x16", "s:1000<40"]], [],
    ),
}

# Functions whose results are random, or whose order is not defined.
RANDOM = ("rand", "bernoulli", "multinomial", "exponential_", "normal", "gumbel", "poisson", "F.dropout(", "group_cat", "a.argsort", "DiffGroup")
# Of these only the first result is compared: places of equal values are in any order.
TIES = ("sort(", "topk(", "mode(", "median(", "kthvalue(", "select.topk")

# expression: how its inputs are made of a size that differs from call to call
CHANGING = {
    "a.exp().sum()": ["f:{n}x16"], "a.softmax(1)": ["f:{n}x16"], "a.sum(0)": ["f:{n}x16"], "a.sort(0)": ["f:{n}x16"], "a.cumsum(0)": ["f:{n}x16"], "a.t().clone()": ["f:{n}x16"],
    "t.cat([a, a * 2])": ["f:{n}x16"], "F.pad(a, (1, 1, 2, 2))": ["f:{n}x16"], "a.flip(0)": ["f:{n}x16"], "a.roll(3, 0)": ["f:{n}x16"], "a.topk(3, 1)": ["f:{n}x16"], "a.max(0)": ["f:{n}x16"],
    "F.layer_norm(a, (16,))": ["f:{n}x16"], "a.std(0)": ["f:{n}x16"], "a[a[:, 0] > 0]": ["f:{n}x16"], "a[:, 0].unique()": ["f:{n}x16"], "a @ a.t()": ["f:{n}x16"], "t.cdist(a, a)": ["f:{n}x16"],
    "a[b]": ["f:{n}x16", "i:{n}<100"], "g.utils.scatter(a, b, 0, 100, 'sum')": ["f:{n}x16", "i:{n}<100"], "g.utils.softmax(a, b, num_nodes=100)": ["f:{n}x16", "i:{n}<100"],
    "F.cross_entropy(a, b % 16)": ["f:{n}x16", "i:{n}<100"], "g.nn.global_add_pool(a, b)": ["f:{n}x16", "s:{n}<100"], "g.utils.to_dense_batch(a, b)": ["f:{n}x16", "s:{n}<100"],
    "g.nn.aggr.MedianAggregation()(a, b)": ["f:{n}x16", "s:{n}<100"], "b.bincount(minlength=100)": ["f:{n}x16", "i:{n}<100"], "b.unique()": ["f:{n}x16", "i:{n}<100"],
    "a.tril()": ["f:{n}x{n}"], "a.t() + a": ["f:{n}x{n}"], "a.diagonal().sum()": ["f:{n}x{n}"], "a.repeat_interleave(2, 0)": ["f:{n}x16"], "a.median(0)": ["f:{n}x16"], "a.quantile(.3, dim=0)": ["f:{n}x16"],
    "a.view(-1)[: a.shape[0]]": ["f:{n}x16"], "a.reshape(-1, 8).mean(1)": ["f:{n}x16"], "F.one_hot(b, 100)": ["f:{n}x16", "i:{n}<100"], "a.norm(dim=1)": ["f:{n}x16"], "F.dropout(a, .5)": ["f:{n}x16"],
    "F.interpolate(a[None, None], scale_factor=2)": ["f:{n}x16"], "F.max_pool1d(a.t()[None], 2)": ["f:{n}x16"], "a.logsumexp(0)": ["f:{n}x16"], "a.nonzero()": ["f:{n}x16"], "a.argmax(0)": ["f:{n}x16"],
    "t.arange(a.shape[0])": ["f:{n}x16"], "t.eye(a.shape[0])": ["f:{n}x16"], "a.unfold(0, 4, 2).sum(-1)": ["f:{n}x16"], "a.diff(dim=0)": ["f:{n}x16"], "a.prod(0)": ["f:{n}x16"],
}  # fmt: skip
