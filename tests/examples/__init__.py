"""Tests of the example projects."""
