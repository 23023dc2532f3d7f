{{- define "batch-scorer.fullname" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "batch-scorer.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "batch-scorer.serviceAccountName" -}}
{{- default (include "batch-scorer.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}
