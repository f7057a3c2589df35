"""The papers' experiments: data sets, protocols, and reports beside the published figures."""
