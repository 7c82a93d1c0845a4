//! quinn: see src/lib.rs.
use std::sync::Arc;

use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::{
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer, ServerName, UnixTime},
    DigitallySignedStruct, SignatureScheme,
};
use tokio::time::{sleep, timeout};
use udtx_bench_peers::{
    certificate, ready, run, Error, Options, Sink, Source, CONFIRMATION, FAREWELL, MOST_BYTES_A_SEND, PARTING, WINDOW,
};

const PIECES: usize = 64;
/// Most unacknowledged bytes. A larger value is slower on one machine.
const SEND_BUFFER: u64 = 2 << 20;
/// Initial MTU. With a much larger one quinn's handshake fails; its MTU discovery finds the rest.
const MOST_AT_FIRST: u16 = 9000;
/// Datagrams that quinn passes to one GSO call, even if the kernel accepts fewer bytes. The datagrams of a failed call
/// are lost, and after a few failures quinn falls back to datagrams of 1,200 bytes.
const BATCH: u16 = 10;

/// Accepts every certificate.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn transport(options: &Options) -> Arc<quinn::TransportConfig> {
    let mut discovery = quinn::MtuDiscoveryConfig::default();
    discovery.upper_bound(options.datagram());
    let mut config = quinn::TransportConfig::default();
    config
        .stream_receive_window(WINDOW.into())
        .receive_window(WINDOW.into())
        .send_window(SEND_BUFFER)
        .enable_segmentation_offload(options.datagram() <= MOST_BYTES_A_SEND / BATCH)
        .initial_mtu(options.datagram().min(MOST_AT_FIRST))
        .mtu_discovery_config(Some(discovery));
    Arc::new(config)
}

fn endpoint(options: &Options, server: Option<quinn::ServerConfig>) -> Result<quinn::Endpoint, Error> {
    let mut config = quinn::EndpointConfig::default();
    config.max_udp_payload_size(options.datagram())?;
    Ok(quinn::Endpoint::new(config, server, options.socket()?, Arc::new(quinn::TokioRuntime))?)
}

async fn receive(options: Options) -> Result<(), Error> {
    let (certificate, key) = certificate()?;
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(
        vec![CertificateDer::from_pem_slice(certificate.as_bytes())?],
        PrivateKeyDer::from_pem_slice(key.as_bytes())?,
    )?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport(&options));
    let mut sink = Sink::open(&options)?;
    let endpoint = endpoint(&options, Some(config))?;
    ready();
    let connection = endpoint.accept().await.ok_or("nobody came")?.await?;
    let (mut confirm, mut stream) = connection.accept_bi().await?;
    let mut pieces: [Bytes; PIECES] = std::array::from_fn(|_| Bytes::new());
    while let Some(count) = stream.read_chunks(&mut pieces).await? {
        sink.put(pieces[..count].iter_mut().map(std::mem::take).collect()).await?;
    }
    sink.finish().await?;
    confirm.write_all(CONFIRMATION).await?;
    confirm.finish()?;
    let _ = timeout(FAREWELL, connection.closed()).await;
    Ok(())
}

async fn send(options: Options) -> Result<(), Error> {
    let provider = CryptoProvider::get_default().expect("installed by main").clone();
    let tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Credulous(provider)))
        .with_no_client_auth();
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(&options));
    let connection = endpoint(&options, None)?.connect_with(config, options.address, "localhost")?.await?;
    let (mut stream, mut confirmed) = connection.open_bi().await?;
    let mut source = Source::open(&options)?;
    while let Some(block) = source.next().await? {
        stream.write_chunk(block).await?;
    }
    stream.finish()?;
    confirmed.read_to_end(CONFIRMATION.len()).await?;
    connection.close(0u32.into(), b"");
    sleep(PARTING).await;
    Ok(())
}

fn main() -> Result<(), Error> {
    rustls::crypto::aws_lc_rs::default_provider().install_default().expect("no other provider");
    let options = Options::from_command_line()?;
    if options.receives {
        run(receive(options));
    } else {
        run(send(options));
    }
    Ok(())
}
