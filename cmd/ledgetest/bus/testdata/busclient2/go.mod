module busclient2

go 1.26

require github.com/edgexfoundry/go-mod-messaging/v2 v2.3.0

require (
	github.com/eclipse/paho.mqtt.golang v1.4.1 // indirect
	github.com/go-redis/redis/v7 v7.3.0 // indirect
	github.com/google/uuid v1.3.0 // indirect
	github.com/gorilla/websocket v1.4.2 // indirect
	github.com/nats-io/nats.go v1.18.0 // indirect
	github.com/nats-io/nkeys v0.3.0 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/pebbe/zmq4 v1.2.7 // indirect
	golang.org/x/crypto v0.0.0-20221010152910-d6f0a8c073c2 // indirect
	golang.org/x/net v0.0.0-20211112202133-69e39bad7dc2 // indirect
	golang.org/x/sync v0.0.0-20210220032951-036812b2e83c // indirect
)
