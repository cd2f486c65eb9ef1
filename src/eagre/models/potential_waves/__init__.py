"""Fully nonlinear potential-flow waves on a sigma grid."""
