package main

import (
	"fmt"
	"strings"
)

// manyResources is a profile with n resources and all keys, as EdgeX's clients write it.
func manyResources(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"v2","profile":{"name":%q,"manufacturer":"m","description":"","model":"m","labels":null,"deviceCommands":[],"deviceResources":[`, name)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"description":"","name":"node-%d","isHidden":false,"tag":"","properties":{"valueType":"Float64","readWrite":"RW","units":"","minimum":"","maximum":"",`+
			`"defaultValue":"","mask":"","shift":"","scale":"","offset":"","base":"","assertion":"","mediaType":""},"attributes":{"nodeId":"ns=2;s=Channel1.Device1.Tag%d"}}`, i, i)
	}
	b.WriteString("]}}")
	return b.String()
}

// yamlForm is a form with a YAML file.
func yamlForm(file string) string {
	return "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"p.yaml\"\r\n\r\n" + file + "\r\n--B--\r\n"
}

const yamlFormType = "multipart/form-data; boundary=B"

func manyResourcesYAML(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nmanufacturer: m\nlabels: [opc-ua]\ndeviceResources:\n", name)
	for i := range n {
		fmt.Fprintf(&b, "  - name: node-%d\n    description: \"tag %[1]d\"\n    properties:\n      valueType: Float64\n      readWrite: RW\n      units: C\n    attributes: { nodeId: \"ns=2;s=Tag%[1]d\" }\n", i)
	}
	return yamlForm(b.String())
}
