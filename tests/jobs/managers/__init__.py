"""Tests of the ready-made job managers, and of the conformance tests for any job manager."""
