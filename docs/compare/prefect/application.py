from fan_out import report

if __name__ == "__main__":
    report.serve()
