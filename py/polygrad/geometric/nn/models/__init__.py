"""Whole models."""

from ..._lazy import lazy

TABLE = {
    "attentive_fp": ["AttentiveFP"],
    "attract_repel": ["ARLinkPredictor"],
    "autoencoder": ["ARGA", "ARGVA", "GAE", "InnerProductDecoder", "VGAE"],
    "basic_gnn": ["GAT", "GCN", "GIN", "PNA", "BasicGNN", "EdgeCNN", "GraphSAGE"],
    "correct_and_smooth": ["CorrectAndSmooth"],
    "deep_graph_infomax": ["DeepGraphInfomax"],
    "deepgcn": ["DeepGCNLayer"],
    "dimenet": ["DimeNet", "DimeNetPlusPlus"],
    "gpse": ["GPSE", "GPSENodeEncoder"],
    "graph_unet": ["GraphUNet"],
    "jumping_knowledge": ["HeteroJumpingKnowledge", "JumpingKnowledge"],
    "label_prop": ["LabelPropagation"],
    "lightgcn": ["LightGCN"],
    "linkx": ["LINKX"],
    "meta": ["MetaLayer"],
    "metapath2vec": ["MetaPath2Vec"],
    "mlp": ["MLP"],
    "node2vec": ["Node2Vec"],
    "gnnff": ["GNNFF"],
    "mask_label": ["MaskLabel"],
    "neural_fingerprint": ["NeuralFingerprint"],
    "pmlp": ["PMLP"],
    "polynormer": ["Polynormer"],
    "re_net": ["RENet"],
    "rect": ["RECT_L"],
    "rev_gnn": ["GroupAddRev"],
    "sgformer": ["SGFormer"],
    "signed_gcn": ["SignedGCN"],
    "schnet": ["SchNet"],
    "tgn": ["TGNMemory"],
    "visnet": ["ViSNet"],
    "lpformer": ["LPFormer"],
    "captum": ["captum_output_to_dicts", "to_captum_input", "to_captum_model"],
}

__getattr__, __dir__, __all__ = lazy(__name__, TABLE)
