# SPDX-License-Identifier: Apache-2.0
"""The parts of soak.py: the app behind the gateway, the traffic, and the eye on memory and descriptors."""
