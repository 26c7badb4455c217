//! Names of the link types that are not supported, after the registry of tcpdump.org.

/// Returns the name of a link type that is not supported, without the prefix `LINKTYPE_` of the registry.
pub(crate) fn name(number: u16) -> Option<&'static str> {
    if matches!(number, 147..=162) {
        return Some("USER");
    }
    let at = NAMES.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    Some(NAMES[at].1)
}

/// All names, by ascending number.
const NAMES: [(u16, &str); 166] = [
    (2, "EXP_ETHERNET"),
    (3, "AX25"),
    (4, "PRONET"),
    (5, "CHAOS"),
    (6, "IEEE802_5"),
    (7, "ARCNET_BSD"),
    (8, "SLIP"),
    (32, "REDBACK_SMARTEDGE"),
    (99, "SYMANTEC_FIREWALL"),
    (100, "ATM_RFC1483"),
    (106, "ATM_CLIP"),
    (109, "ENC"),
    (112, "NETBSD_HDLC"),
    (114, "LTALK"),
    (115, "ECONET"),
    (116, "IPFILTER"),
    (118, "CISCO_IOS"),
    (119, "IEEE802_11_PRISM"),
    (120, "AIRONET_HEADER"),
    (122, "IP_OVER_FC"),
    (123, "SUNATM"),
    (124, "RIO"),
    (125, "PCI_EXP"),
    (126, "AURORA"),
    (128, "TZSP"),
    (129, "ARCNET_LINUX"),
    (130, "JUNIPER_MLPPP"),
    (131, "JUNIPER_MLFR"),
    (132, "JUNIPER_ES"),
    (133, "JUNIPER_GGSN"),
    (134, "JUNIPER_MFR"),
    (135, "JUNIPER_ATM2"),
    (136, "JUNIPER_SERVICES"),
    (137, "JUNIPER_ATM1"),
    (138, "APPLE_IP_OVER_IEEE1394"),
    (139, "MTP2_WITH_PHDR"),
    (140, "MTP2"),
    (141, "MTP3"),
    (142, "SCCP"),
    (143, "DOCSIS"),
    (144, "LINUX_IRDA"),
    (145, "IBM_SP"),
    (146, "IBM_SN"),
    (163, "IEEE802_11_AVS"),
    (164, "JUNIPER_MONITOR"),
    (165, "BACNET_MS_TP"),
    (166, "PPP_PPPD"),
    (167, "JUNIPER_PPPOE"),
    (168, "JUNIPER_PPPOE_ATM"),
    (169, "GPRS_LLC"),
    (170, "GPF_T"),
    (171, "GPF_F"),
    (172, "GCOM_T1E1"),
    (173, "GCOM_SERIAL"),
    (174, "JUNIPER_PIC_PEER"),
    (175, "ERF_ETH"),
    (176, "ERF_POS"),
    (177, "LINUX_LAPD"),
    (178, "JUNIPER_ETHER"),
    (179, "JUNIPER_PPP"),
    (180, "JUNIPER_FRELAY"),
    (181, "JUNIPER_CHDLC"),
    (182, "MFR"),
    (183, "JUNIPER_VP"),
    (184, "A429"),
    (185, "A653_ICM"),
    (186, "USB_FREEBSD"),
    (187, "BLUETOOTH_HCI_H4"),
    (188, "IEEE802_16_MAC_CPS"),
    (189, "USB_LINUX"),
    (190, "CAN20B"),
    (191, "IEEE802_15_4_LINUX"),
    (193, "IEEE802_16_MAC_CPS_RADIO"),
    (194, "JUNIPER_ISM"),
    (195, "IEEE802_15_4_WITHFCS"),
    (196, "SITA"),
    (197, "ERF"),
    (198, "RAIF1"),
    (199, "IPMB_KONTRON"),
    (200, "JUNIPER_ST"),
    (201, "BLUETOOTH_HCI_H4_WITH_PHDR"),
    (202, "AX25_KISS"),
    (203, "LAPD"),
    (204, "PPP_WITH_DIR"),
    (205, "C_HDLC_WITH_DIR"),
    (206, "FRELAY_WITH_DIR"),
    (207, "LAPB_WITH_DIR"),
    (209, "IPMB_LINUX"),
    (210, "FLEXRAY"),
    (211, "MOST"),
    (212, "LIN"),
    (213, "X2E_SERIAL"),
    (214, "X2E_XORAYA"),
    (215, "IEEE802_15_4_NONASK_PHY"),
    (216, "LINUX_EVDEV"),
    (217, "GSMTAP_UM"),
    (218, "GSMTAP_ABIS"),
    (220, "USB_LINUX_MMAPPED"),
    (221, "DECT"),
    (222, "AOS"),
    (223, "WIHART"),
    (224, "FC_2"),
    (225, "FC_2_WITH_FRAME_DELIMS"),
    (227, "CAN_SOCKETCAN"),
    (230, "IEEE802_15_4_NOFCS"),
    (231, "DBUS"),
    (232, "JUNIPER_VS"),
    (233, "JUNIPER_SRX_E2E"),
    (234, "JUNIPER_FIBRECHANNEL"),
    (235, "DVB_CI"),
    (236, "MUX27010"),
    (237, "STANAG_5066_D_PDU"),
    (238, "JUNIPER_ATM_CEMIC"),
    (240, "NETANALYZER"),
    (241, "NETANALYZER_TRANSPARENT"),
    (243, "MPEG_2_TS"),
    (244, "NG40"),
    (245, "NFC_LLCP"),
    (246, "PFSYNC"),
    (247, "INFINIBAND"),
    (248, "SCTP"),
    (249, "USBPCAP"),
    (250, "RTAC_SERIAL"),
    (251, "BLUETOOTH_LE_LL"),
    (252, "WIRESHARK_UPPER_PDU"),
    (253, "NETLINK"),
    (254, "BLUETOOTH_LINUX_MONITOR"),
    (255, "BLUETOOTH_BREDR_BB"),
    (256, "BLUETOOTH_LE_LL_WITH_PHDR"),
    (257, "PROFIBUS_DL"),
    (259, "EPON"),
    (260, "IPMI_HPM_2"),
    (261, "ZWAVE_R1_R2"),
    (262, "ZWAVE_R3"),
    (263, "WATTSTOPPER_DLM"),
    (264, "ISO_14443"),
    (265, "RDS"),
    (266, "USB_DARWIN"),
    (267, "OPENFLOW"),
    (268, "SDLC"),
    (269, "TI_LLN_SNIFFER"),
    (270, "LORATAP"),
    (271, "VSOCK"),
    (272, "NORDIC_BLE"),
    (273, "DOCSIS31_XRA31"),
    (274, "ETHERNET_MPACKET"),
    (275, "DISPLAYPORT_AUX"),
    (277, "SERCOS_MONITOR"),
    (278, "OPENVIZSLA"),
    (279, "EBHSCR"),
    (280, "VPP_DISPATCH"),
    (283, "IEEE802_15_4_TAP"),
    (286, "ELEE"),
    (287, "ZWAVE_SERIAL"),
    (288, "USB_2_0"),
    (289, "ATSC_ALP"),
    (290, "ETW"),
    (291, "NETANALYZER_NG"),
    (292, "ZBOSS_NCP"),
    (293, "USB_2_0_LOW_SPEED"),
    (294, "USB_2_0_FULL_SPEED"),
    (295, "USB_2_0_HIGH_SPEED"),
    (296, "AUERSWALD_LOG"),
    (297, "ZWAVE_TAP"),
    (298, "SILABS_DEBUG_CHANNEL"),
    (299, "FIRA_UCI"),
];

#[cfg(test)]
mod tests {
    use super::{NAMES, name};
    use crate::packet::{Skip, headers};

    #[test]
    fn every_link_type_with_a_name_is_found_and_not_supported() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for number in NAMES.map(|(number, _)| number) {
            assert!(name(number).is_some(), "link type {number}");
            assert_eq!(headers(number, &[]), Err(Skip::LinkType), "link type {number}");
        }
        assert_eq!((name(1), name(147), name(162)), (None, Some("USER"), Some("USER")));
    }

    #[test]
    fn every_other_link_type_of_the_registry_is_supported() {
        for number in (0..=299).filter(|number| name(*number).is_none()) {
            // These numbers are not assigned.
            let is_free = matches!(number, 11 | 13 | 15..=31 | 33..=49 | 52..=98 | 102 | 103)
                || matches!(number, 110 | 111 | 121 | 208);
            let expected = if is_free { Skip::LinkType } else { Skip::CutHeader };
            assert_eq!(headers(number, &[]), Err(expected), "link type {number}");
        }
    }
}
