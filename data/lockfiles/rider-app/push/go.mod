module heron.example.com/rider/push

go 1.24.0

toolchain go1.24.6

require (
	github.com/go-chi/chi/v5 v5.2.2
	github.com/go-playground/validator/v10 v10.27.0
	github.com/golang-jwt/jwt/v5 v5.3.0
	github.com/google/uuid v1.6.0
	github.com/gorilla/websocket v1.5.4
	github.com/jackc/pgx/v5 v5.7.5
	github.com/nats-io/nats.go v1.44.0
	github.com/oklog/ulid/v2 v2.1.1
	github.com/paulmach/orb v0.11.1
	github.com/prometheus/client_golang v1.23.0
	github.com/redis/go-redis/v9 v9.12.1
	github.com/rs/zerolog v1.34.0
	github.com/segmentio/kafka-go v0.4.48
	github.com/sideshow/apns2 v0.25.0
	github.com/sony/gobreaker/v2 v2.2.0
	github.com/stretchr/testify v1.10.0
	github.com/uber/h3-go/v4 v4.3.0
	github.com/zmb3/spotify/v2 v2.4.3
	golang.org/x/sync v0.16.0
	golang.org/x/time v0.12.0
	google.golang.org/grpc v1.74.2
	google.golang.org/protobuf v1.36.7
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	github.com/klauspost/compress v1.18.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/nats-io/nkeys v0.4.11 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.65.0 // indirect
	github.com/prometheus/procfs v0.17.0 // indirect
	go.opentelemetry.io/otel v1.37.0 // indirect
	go.opentelemetry.io/otel/trace v1.37.0 // indirect
	golang.org/x/crypto v0.41.0 // indirect
	golang.org/x/net v0.43.0 // indirect
	golang.org/x/oauth2 v0.30.0 // indirect
	golang.org/x/sys v0.35.0 // indirect
	golang.org/x/text v0.28.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

// Our fork sends live activities, too.
replace github.com/sideshow/apns2 => github.com/heron/apns2 v0.25.1-heron.2
