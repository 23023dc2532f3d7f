module heron.example.com/platform

go 1.19
