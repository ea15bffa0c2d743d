// Package mqtt publishes notifications on MQTT 3.1.1 brokers.
//
// A message of QoS 1 or 2 is delivered when the broker has acknowledged it; one of QoS 0 when it was handed to the
// system's network, of which nobody hears what became. Connections are shared by all who name the same broker, client and
// credentials, opened at the first message and closed when idle.
//
// Caveats:
//
//   - A broker that does not let a client publish on a topic does not say so in MQTT 3.1.1: it acknowledges and drops.
//   - A broker has one connection for each client id. Channels that use one publisher with different credentials
//     at one broker push each other out.
//   - A password goes in the clear with the schemes tcp and mqtt.
package mqtt
