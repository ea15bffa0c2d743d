module appservice

go 1.26

require (
	github.com/edgexfoundry/app-functions-sdk-go/v2 v2.3.1
	github.com/edgexfoundry/go-mod-core-contracts/v2 v2.3.0
)

require (
	bitbucket.org/bertimus9/systemstat v0.5.0 // indirect
	github.com/Microsoft/go-winio v0.5.2 // indirect
	github.com/armon/go-metrics v0.3.10 // indirect
	github.com/cenkalti/backoff v2.2.1+incompatible // indirect
	github.com/diegoholiveira/jsonlogic/v3 v3.2.6 // indirect
	github.com/eclipse/paho.mqtt.golang v1.4.1 // indirect
	github.com/edgexfoundry/go-mod-bootstrap/v2 v2.3.0 // indirect
	github.com/edgexfoundry/go-mod-configuration/v2 v2.3.0 // indirect
	github.com/edgexfoundry/go-mod-messaging/v2 v2.3.0 // indirect
	github.com/edgexfoundry/go-mod-registry/v2 v2.3.0 // indirect
	github.com/edgexfoundry/go-mod-secrets/v2 v2.3.0 // indirect
	github.com/fatih/color v1.9.0 // indirect
	github.com/fxamacker/cbor/v2 v2.4.0 // indirect
	github.com/go-kit/log v0.2.1 // indirect
	github.com/go-logfmt/logfmt v0.5.1 // indirect
	github.com/go-playground/locales v0.14.0 // indirect
	github.com/go-playground/universal-translator v0.18.0 // indirect
	github.com/go-playground/validator/v10 v10.11.1 // indirect
	github.com/go-redis/redis/v7 v7.3.0 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/gomodule/redigo v1.8.9 // indirect
	github.com/google/uuid v1.3.0 // indirect
	github.com/gorilla/mux v1.8.0 // indirect
	github.com/gorilla/websocket v1.4.2 // indirect
	github.com/hashicorp/consul/api v1.15.3 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.1 // indirect
	github.com/hashicorp/go-hclog v0.14.1 // indirect
	github.com/hashicorp/go-immutable-radix v1.3.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/hashicorp/go-rootcerts v1.0.2 // indirect
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	github.com/hashicorp/serf v0.9.7 // indirect
	github.com/leodido/go-urn v1.2.1 // indirect
	github.com/mattn/go-colorable v0.1.12 // indirect
	github.com/mattn/go-isatty v0.0.14 // indirect
	github.com/mitchellh/consulstructure v0.0.0-20190329231841-56fdc4d2da54 // indirect
	github.com/mitchellh/copystructure v1.0.0 // indirect
	github.com/mitchellh/go-homedir v1.1.0 // indirect
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/mitchellh/reflectwalk v1.0.0 // indirect
	github.com/nats-io/nats.go v1.18.0 // indirect
	github.com/nats-io/nkeys v0.3.0 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/pebbe/zmq4 v1.2.7 // indirect
	github.com/pelletier/go-toml v1.9.5 // indirect
	github.com/rcrowley/go-metrics v0.0.0-20201227073835-cf1acfcdf475 // indirect
	github.com/spiffe/go-spiffe/v2 v2.1.1 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	github.com/zeebo/errs v1.2.2 // indirect
	golang.org/x/crypto v0.0.0-20221010152910-d6f0a8c073c2 // indirect
	golang.org/x/net v0.0.0-20211216030914-fe4d6282115f // indirect
	golang.org/x/sync v0.0.0-20210220032951-036812b2e83c // indirect
	golang.org/x/sys v0.0.0-20221010170243-090e33056c14 // indirect
	golang.org/x/text v0.3.7 // indirect
	google.golang.org/genproto v0.0.0-20211208223120-3a66f561d7aa // indirect
	google.golang.org/grpc v1.46.0 // indirect
	google.golang.org/protobuf v1.28.0 // indirect
	gopkg.in/square/go-jose.v2 v2.4.1 // indirect
)
