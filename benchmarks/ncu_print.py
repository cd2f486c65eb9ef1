import csv, sys
rows = [r for r in csv.reader(open(sys.argv[1])) if len(r) > 10]
head, units, data = rows[0], rows[1], rows[2:]
for c, (h, u) in enumerate(zip(head, units)):
    if "__" in h or h in ("Grid Size", "Block Size"):
        print(h.replace("smsp__average_warps_issue_stalled_", "stall ").replace(".pct_of_peak_sustained_", "% "), u, *(r[c][:9] for r in data))
